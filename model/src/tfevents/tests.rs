use super::*;

/// A field with bytes in it.
fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 128);
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

fn record(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    [&length[..], &masked(&length).to_le_bytes(), payload, &masked(payload).to_le_bytes()].concat()
}

fn event_of(step: u8, what: &[u8]) -> Vec<u8> {
    [&[9], &1.5_f64.to_le_bytes()[..], &[16, step], what].concat()
}

fn simple(tag: &str, value: f32) -> Vec<u8> {
    part(1, &[part(1, tag.as_bytes()), vec![21], value.to_le_bytes().to_vec()].concat())
}

fn tensor(tag: &str, kind: u8, rest: &[u8], plugin: Option<&str>) -> Vec<u8> {
    let metadata = plugin.map_or(Vec::new(), |name| part(9, &part(1, &part(1, name.as_bytes()))));
    part(1, &[part(1, tag.as_bytes()), part(8, &[&[8, kind], rest].concat()), metadata].concat())
}

fn read(summary: &[u8]) -> Vec<(String, Option<f64>)> {
    let payload = event_of(7, &part(5, summary));
    let event = event(&payload).unwrap();
    assert_eq!((event.step, event.wall_time), (7, 1.5));
    let What::Summary(summary) = event.what else { panic!("{event:?}") };
    summary.values().map(|it| (it.tag.to_owned(), it.value)).collect()
}

#[test]
fn scalars_are_read_in_every_encoding() {
    let quarter = 0.25_f32.to_le_bytes();
    let packed = part(5, &quarter);
    let cases = [
        simple("a", 0.25),
        tensor("a", 1, &[&[45], &quarter[..]].concat(), Some("scalars")),
        tensor("a", 1, &packed, None),
        tensor("a", 1, &part(4, &quarter), Some("scalars")),
        tensor("a", 2, &part(4, &0.25_f64.to_le_bytes()), None),
        tensor("a", 2, &part(6, &0.25_f64.to_le_bytes()), Some("scalars")),
        tensor("a", 19, &part(13, &[0x80, 0x68]), Some("scalars")),
        tensor("a", 1, &[part(2, &part(2, &[8, 1])), packed].concat(), Some("scalars")),
    ];
    for case in cases {
        assert_eq!(read(&case), [("a".to_owned(), Some(0.25))], "{case:?}");
    }
    assert_eq!(read(&tensor("a", 9, &part(10, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), None))[0].1, Some(-1.0));
    assert_eq!(read(&tensor("zero", 1, &[], Some("scalars")))[0].1, Some(0.0));
    assert!(read(&simple("a", f32::NAN))[0].1.unwrap().is_nan());
}

#[test]
fn what_is_no_scalar_has_no_value() {
    let two = part(2, &part(2, &[8, 2]));
    for case in [tensor("a", 1, &two, None), tensor("a", 1, &[], Some("images")), tensor("a", 7, &part(8, b"text"), None)] {
        assert_eq!(read(&case), [("a".to_owned(), None)], "{case:?}");
    }
}

#[test]
fn a_file_is_read_the_same_however_it_is_cut() {
    let events = [part(3, b"brain.Event:2"), part(7, &[8, 1]), part(5, &simple("loss", 0.5))];
    let file: Vec<u8> = events.iter().enumerate().flat_map(|(step, what)| record(&event_of(step as u8, what))).collect();
    for cut in 0..=file.len() {
        let (mut held, mut seen) = (Vec::new(), Vec::new());
        for piece in [&file[..cut], &file[cut..]] {
            held.extend_from_slice(piece);
            while let Framed::Record { payload, length } = framed(&held) {
                seen.push(format!("{:?}", event(payload).unwrap().what));
                held.drain(..length);
            }
            assert_eq!(framed(&held), Framed::Short);
        }
        assert_eq!(seen.len(), 3);
        assert!(seen[0].contains("brain.Event:2") && seen[1] == "Start" && seen[2].starts_with("Summary"), "{seen:?}");
    }
    assert_eq!((version("brain.Event:2"), version("2")), (Some(2.0), None));
}

#[test]
fn a_flipped_bit_anywhere_is_damage() {
    let good = record(&event_of(1, &part(5, &simple("loss", 0.5))));
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(framed(&bad), Framed::Damaged, "bit {bit}");
    }
}

#[test]
fn a_large_record_is_passed_over_by_its_length() {
    let length = (2_u64 << 20).to_le_bytes();
    let header = [&length[..], &masked(&length).to_le_bytes()].concat();
    assert_eq!(framed(&header), Framed::Large { length: (2 << 20) + 16 });
    let length = u64::MAX.to_le_bytes();
    assert_eq!(framed(&[&length[..], &masked(&length).to_le_bytes()].concat()), Framed::Damaged);
}

#[test]
fn nonsense_is_no_event_and_never_a_panic() {
    let mut seed = 7_u64;
    for length in 0..400 {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            })
            .collect();
        if let Some(Event { what: What::Summary(summary), .. }) = event(&bytes) {
            assert!(summary.values().count() <= length);
        }
    }
}
