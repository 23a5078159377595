//! The program's text on large pages. Whoever was forked a moment ago has nothing of it in its page table, and would fetch it in a
//! hundred faults; for a task that is over in a blink those are a tenth of all there is to do. A large page is there at once.
//!
//! The kernel keeps files on large pages only where it was built for that, so the text moves to memory of ours, which costs as much as
//! it is long. Only the nursery does it, and only while there is much to do; a supervisor that stays gives its share back.

use std::{
    fs::{self, File},
    io,
    ops::Range,
    os::fd::AsRawFd,
    ptr,
    sync::OnceLock,
};

/// Where a part of the text stands that has been moved, and where that is in our file.
struct Moved {
    at: Range<usize>,
    offset: u64,
}

static MOVED: OnceLock<Moved> = OnceLock::new();

/// Must be called while there is one thread. Whatever keeps it from moving, the text is as good as before.
pub fn move_to_large_pages() -> io::Result<()> {
    // Elsewhere instructions that were written as data have to be told of to the processor.
    if !cfg!(target_arch = "x86_64") || is_moved() {
        return Ok(());
    }
    let page = large_page_bytes()?;
    let Some(moved) = whole_pages(&own_text()?, page) else { return Ok(()) };
    let copy = Copy::of(&moved.at, page)?;
    if !is_on_large_pages(&copy.at)? {
        return Err(io::Error::other("the kernel has no large pages to give"));
    }
    copy.take_the_place_of(&moved.at)?;
    let _first = MOVED.set(moved);
    Ok(())
}

pub fn is_moved() -> bool {
    MOVED.get().is_some()
}

/// For a process that goes on for longer, and can do with the text that everyone shares. Where that is not to be had, it keeps
/// what it has.
pub fn settle() {
    let _ = move_back();
}

fn move_back() -> io::Result<()> {
    let Some(Moved { at, offset }) = MOVED.get() else { return Ok(()) };
    let program = File::open("/proc/self/exe")?;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
    // SAFETY: the same bytes come to the same place, at one stroke.
    let done = unsafe { libc::mmap(at.start as *mut _, at.len(), protection, flags, program.as_raw_fd(), offset.cast_signed()) };
    if done == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn large_page_bytes() -> io::Result<usize> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")?;
    text.trim().parse().map_err(io::Error::other)
}

/// The mapping in which this very function stands.
fn own_text() -> io::Result<Moved> {
    let here = own_text as *const () as usize;
    let maps = fs::read_to_string("/proc/self/maps")?;
    let text = maps.lines().filter_map(mapping).find(|it| it.at.contains(&here));
    text.ok_or_else(|| io::Error::other("our own text is not among our mappings"))
}

/// `55d0c0e00000-55d0c2400000 r-xp 0059f000 fe:00 5368099  /usr/bin/trainmaster`
fn mapping(line: &str) -> Option<Moved> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let at = usize::try_from(number(start)?).ok()?..usize::try_from(number(end)?).ok()?;
    Some(Moved { at, offset: number(words.nth(1)?)? })
}

fn whole_pages(text: &Moved, page: usize) -> Option<Moved> {
    let (start, end) = (text.at.start.next_multiple_of(page), text.at.end / page * page);
    let offset = text.offset + (start - text.at.start) as u64;
    (start < end).then_some(Moved { at: start..end, offset })
}

/// Memory with the text in it, which is not yet where it is run.
struct Copy {
    at: Range<usize>,
    reserved: Range<usize>,
}

impl Copy {
    fn of(text: &Range<usize>, page: usize) -> io::Result<Self> {
        let bytes = text.len() + page;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: memory of our own, as long as it says; the text is readable from end to end.
        unsafe {
            let reserved = libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0);
            if reserved == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let start = (reserved as usize).next_multiple_of(page);
            let copy = Self { at: start..start + text.len(), reserved: reserved as usize..reserved as usize + bytes };
            libc::madvise(start as *mut _, text.len(), libc::MADV_HUGEPAGE);
            ptr::copy_nonoverlapping(text.start as *const u8, start as *mut u8, text.len());
            Ok(copy)
        }
    }

    fn take_the_place_of(self, text: &Range<usize>) -> io::Result<()> {
        let (from, to, bytes) = (self.at.start as *mut _, text.start as *mut libc::c_void, text.len());
        // SAFETY: the same bytes come to the same place, at one stroke, and nobody else is under way in them.
        unsafe {
            if libc::mprotect(from, bytes, libc::PROT_READ | libc::PROT_EXEC) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::mremap(from, bytes, bytes, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, to) == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: nobody has anything in there; what has moved away is not there any more.
        unsafe { libc::munmap(self.reserved.start as *mut _, self.reserved.len()) };
    }
}

/// Small pages would make every fork slower.
fn is_on_large_pages(memory: &Range<usize>) -> io::Result<bool> {
    let smaps = fs::read_to_string("/proc/self/smaps")?;
    let mut lines = smaps.lines().skip_while(|line| mapping(line).is_none_or(|it| !it.at.contains(&memory.start)));
    let large = lines.find_map(|line| line.strip_prefix("AnonHugePages:")?.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    Ok(large.is_some_and(|large| large << 10 >= memory.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_large_pages_of_a_text_are_found_with_their_place_in_the_file() {
        let text = mapping("55d0c0e01000-55d0c1400000 r-xp 0059f000 fe:00 5368099     /usr/bin/trainmaster").unwrap();
        let part = whole_pages(&text, 2 << 20).unwrap();
        assert_eq!((part.at, part.offset), (0x55d0_c100_0000..0x55d0_c140_0000, 0x59_f000 + 0x1f_f000));
        assert!(whole_pages(&text, 1 << 30).is_none());
        assert!(mapping("Rss:                   4 kB").is_none());
    }

    #[test]
    fn our_own_text_is_found() {
        let text = own_text().unwrap();
        assert!(text.at.contains(&(mapping as *const () as usize)));
    }
}
