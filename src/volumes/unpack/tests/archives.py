"""Makes archives of one folder in every way Python knows, and unpacks each as Python does."""
import os, sys, tarfile, zipfile
src, out = sys.argv[1:]
os.makedirs(src + "/deep/" + "d" * 120 + "/" + "e" * 120)
open(src + "/deep/" + "d" * 120 + "/" + "e" * 120 + "/long.txt", "w").write("long")
open(src + "/plain.txt", "w").write("plain " * 5000)
open(src + "/empty", "w")
open(src + "/run.sh", "w").write("#!/bin/sh\n"); os.chmod(src + "/run.sh", 0o755)
open(src + "/s\u00fc\u00df \u4e2d\u6587.txt", "w").write("names")
os.mkdir(src + "/nothing")
def names(folder):
    for where, dirs, files in os.walk(folder):
        for name in sorted(dirs) + sorted(files):
            yield os.path.join(where, name)
for method in ("STORED", "DEFLATED"):
    with zipfile.ZipFile(f"{out}/{method}.zip", "w", getattr(zipfile, "ZIP_" + method)) as z:
        for path in names(src): z.write(path, os.path.relpath(path, src))
    with zipfile.ZipFile(f"{out}/{method}.zip") as z: z.extractall(f"{out}/{method}.zip.by-python")
with open(f"{out}/streamed.zip", "wb") as f:
    class Stream:
        def write(self, data): return f.write(data)
        def flush(self): f.flush()
    with zipfile.ZipFile(Stream(), "w", zipfile.ZIP_DEFLATED) as z:
        for path in names(src): z.write(path, os.path.relpath(path, src))
with zipfile.ZipFile(f"{out}/streamed.zip") as z: z.extractall(f"{out}/streamed.zip.by-python")
with zipfile.ZipFile(f"{out}/wide.zip", "w") as z:
    with z.open("wide.txt", "w", force_zip64=True) as f: f.write(b"wide")
with zipfile.ZipFile(f"{out}/wide.zip") as z: z.extractall(f"{out}/wide.zip.by-python")
os.symlink("../plain.txt", src + "/deep/link")
os.link(src + "/plain.txt", src + "/same.txt")
for fmt in ("USTAR", "GNU", "PAX"):
    for end, mode in ((".tar", "w"), (".tar.gz", "w:gz")):
        path = f"{out}/{fmt}{end}"
        with tarfile.open(path, mode, format=getattr(tarfile, fmt + "_FORMAT")) as t:
            for name in sorted(os.listdir(src)):
                if fmt == "USTAR" and name == "deep": continue
                t.add(src + "/" + name, "./" + name if fmt == "GNU" else name)
        with tarfile.open(path) as t: t.extractall(path + ".by-python", filter="data")
