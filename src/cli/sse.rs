//! Server-sent events: bytes in, events out, wherever the network happened to cut them.

/// One event as the server sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub name: String,
    pub data: String,
    /// The last id seen so far; what to send back as `Last-Event-ID`.
    pub id: String,
}

/// More than any event of ours; a stream that goes beyond it is not one of ours.
const EVENT_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the server is larger than {EVENT_BYTES_MAX} bytes")]
pub struct TooLarge;

/// Keeps what belongs to an event that has not ended yet.
#[derive(Default)]
pub struct Parser {
    line: Vec<u8>,
    after_carriage_return: bool,
    name: String,
    data: Vec<String>,
    data_bytes: usize,
    id: String,
}

impl Parser {
    /// Takes the next bytes and answers the events they completed.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, TooLarge> {
        let mut events = Vec::new();
        for byte in bytes {
            let second_of_a_pair = *byte == b'\n' && self.after_carriage_return;
            self.after_carriage_return = *byte == b'\r';
            match byte {
                b'\n' if second_of_a_pair => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                other => self.line.push(*other),
            }
            if self.line.len() + self.data_bytes > EVENT_BYTES_MAX {
                return Err(TooLarge);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => {
                self.data_bytes += value.len() + 1;
                self.data.push(value.to_owned());
            }
            "id" => self.id = value.to_owned(),
            // Comments keep the line warm; fields we do not know are for others.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        self.data_bytes = 0;
        (!data.is_empty()).then(|| SseEvent { name, data: data.join("\n"), id: self.id.clone() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str, id: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into(), id: id.into() }
    }

    #[test]
    fn a_stream_is_read_as_the_standard_says() {
        let text = ": welcome\n\nevent: log\nid: 7\ndata: {\"a\":1}\n\n\
                    data:first\r\ndata: second\r\n\r\n\
                    event: empty\n\nretry: 10\ndata:  two spaces\r\r";
        let events = Parser::default().feed(text.as_bytes()).unwrap();
        assert_eq!(events, [event("log", "{\"a\":1}", "7"), event("", "first\nsecond", "7"), event("", " two spaces", "7")]);
    }

    #[test]
    fn an_event_that_has_not_ended_is_not_an_event() {
        let mut parser = Parser::default();
        assert_eq!(parser.feed(b"event: end\ndata: x\n").unwrap(), []);
        assert_eq!(parser.feed(b"\n").unwrap(), [event("end", "x", "")]);
    }

    #[test]
    fn a_stream_without_end_is_refused_before_it_fills_the_memory() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1 << 20];
        let fed = (0..17).map(|_| parser.feed(&piece)).find(Result::is_err);
        assert_eq!(fed, Some(Err(TooLarge)));
    }

    proptest! {
        #[test]
        fn where_the_network_cuts_does_not_matter(
            lines in prop::collection::vec("(data|event|id|x)?(: ?)?[a-zé:\u{1F600} ]{0,6}(\n|\r\n|\r)", 0..30),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let bytes = lines.concat().into_bytes();
            let whole = Parser::default().feed(&bytes).unwrap();

            let mut one_by_one = Parser::default();
            let single: Vec<_> = bytes.iter().flat_map(|byte| one_by_one.feed(&[*byte]).unwrap()).collect();
            prop_assert_eq!(&single, &whole);

            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.sort_unstable();
            let (mut cut_up, mut events, mut start) = (Parser::default(), Vec::new(), 0);
            for place in places.into_iter().chain([bytes.len()]) {
                events.extend(cut_up.feed(&bytes[start..place]).unwrap());
                start = place;
            }
            prop_assert_eq!(&events, &whole);
        }
    }
}
