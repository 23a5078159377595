//! Puts the console into the program: whatever `make web` left in `web/dist`, already gzipped. Without it the program is
//! built all the same and says so where the console would be.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let dist = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("web/dist");
    println!("cargo::rerun-if-changed=web/dist");
    // Clones of this repository share a target directory; one that was built from and is gone must not be looked for.
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut lines = Vec::new();
    if dist.is_dir() {
        list(&dist, "", &mut lines)?;
    }
    lines.sort();
    let text = format!("static FILES: &[(&str, &[u8])] = &[\n{}];\n", lines.concat());
    fs::write(Path::new(&env::var("OUT_DIR")?).join("console_files.rs"), text)?;
    Ok(())
}

fn list(folder: &Path, above: &str, lines: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = format!("{above}/{}", path.file_name().and_then(|name| name.to_str()).ok_or("a file name that is no text")?);
        if path.is_dir() {
            list(&path, &name, lines)?;
        } else if let Some(name) = name.strip_suffix(".gz") {
            lines.push(format!("    ({name:?}, include_bytes!({:?})),\n", path.display().to_string()));
        }
    }
    Ok(())
}
