//! Who makes an accelerator of a type. Each maker's driver counts its own devices from 0, whatever their models, and its
//! libraries look for them in variables of their own.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Maker {
    Nvidia,
    Amd,
    Ascend,
    /// Somebody of whose variables we know nothing.
    Other,
}

/// Words in the names of types that are not NVIDIA's.
const WORDS: [(Maker, &[&str]); 3] = [
    (Maker::Ascend, &["ascend", "npu", "davinci"]),
    (Maker::Amd, &["amd", "instinct", "radeon", "mi100", "mi200", "mi210", "mi250", "mi300", "mi325", "mi350", "mi355"]),
    (Maker::Other, &["gaudi", "habana", "hpu", "xpu", "mlu", "cambricon", "dcu", "hygon", "tpu", "fpga"]),
];

impl Maker {
    /// By the name of the type, which may be any: a name that says nothing else is a model of NVIDIA's.
    pub fn of(kind: &str) -> Self {
        let kind = kind.to_ascii_lowercase();
        let known = WORDS.iter().find(|(_, words)| words.iter().any(|word| kind.contains(word)));
        known.map_or(Maker::Nvidia, |(maker, _)| *maker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_tells_its_maker_by_its_name() {
        for (kind, maker) in [
            ("A100", Maker::Nvidia),
            ("RTX3090", Maker::Nvidia),
            ("GPU", Maker::Nvidia),
            ("any", Maker::Nvidia),
            ("Ascend910", Maker::Ascend),
            ("npu", Maker::Ascend),
            ("MI300X", Maker::Amd),
            ("amd-instinct", Maker::Amd),
            ("TPU-v4", Maker::Other),
            ("Gaudi2", Maker::Other),
        ] {
            assert_eq!(Maker::of(kind), maker, "{kind}");
        }
    }
}
