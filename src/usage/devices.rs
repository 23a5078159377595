//! Accelerators, asked through NVIDIA's library. It is loaded only for who has any.

use model::usage::Absence;
use nvml_wrapper::Nvml;

pub enum Devices {
    Silent(Absence),
    Told { library: Box<Nvml>, indices: Vec<u32> },
}

impl Devices {
    /// `visible` is what the task is told of its devices, such as `0,3`.
    pub fn given(visible: Option<&String>) -> Self {
        let indices: Vec<u32> = visible.iter().flat_map(|list| list.split(',')).filter_map(|it| it.trim().parse().ok()).collect();
        if indices.is_empty() {
            return Self::Silent(Absence::NoDevice);
        }
        match Nvml::init() {
            Ok(library) => Self::Told { library: Box::new(library), indices },
            Err(_) => Self::Silent(Absence::NoDeviceLibrary),
        }
    }

    /// Every device of the machine.
    pub fn all() -> Self {
        let Ok(library) = Nvml::init() else { return Self::Silent(Absence::NoDeviceLibrary) };
        match library.device_count() {
            Ok(0) | Err(_) => Self::Silent(Absence::NoDevice),
            Ok(count) => Self::Told { library: Box::new(library), indices: (0..count).collect() },
        }
    }

    /// How busy they are, in thousandths of a device, and how much of their memory is taken.
    pub fn look(&self) -> Result<(u64, u64), Absence> {
        let (library, indices) = match self {
            Self::Silent(why) => return Err(*why),
            Self::Told { library, indices } => (library, indices),
        };
        let one = |index: &u32| {
            let device = library.device_by_index(*index)?;
            Ok((u64::from(device.utilization_rates()?.gpu) * 10, device.memory_info()?.used))
        };
        let all: Result<Vec<(u64, u64)>, nvml_wrapper::error::NvmlError> = indices.iter().map(one).collect();
        let all = all.map_err(|_| Absence::DeviceSilent)?;
        Ok(all.into_iter().fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_devices_is_told_so() {
        for visible in [None, Some(String::new()), Some("none".to_owned())] {
            assert_eq!(Devices::given(visible.as_ref()).look(), Err(Absence::NoDevice));
        }
    }
}
