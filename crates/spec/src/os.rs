//! Operating systems.

use crate::named::named;

named! {
    pub enum HostOs {
        Windows2022 = "windows-2022",
        Windows2019 = "windows-2019",
        Windows2025 = "windows-2025",
        Windows2016 = "windows-2016",
        Windows1803 = "windows-1803",
        Windows1709 = "windows-1709",
        /// The release is detected on the host.
        Windows = "windows",
        Ubuntu1604 = "ubuntu-16.04",
        Ubuntu1804 = "ubuntu-18.04",
        Ubuntu2004 = "ubuntu-20.04",
        Ubuntu2204 = "ubuntu-22.04",
        Ubuntu2404 = "ubuntu-24.04",
        Ubuntu2604 = "ubuntu-26.04",
        Debian11 = "debian-11",
        Debian12 = "debian-12",
        Debian13 = "debian-13",
        Rocky8 = "rocky-8",
        Rocky9 = "rocky-9",
        Rocky10 = "rocky-10",
        Alma8 = "alma-8",
        Alma9 = "alma-9",
        Alma10 = "alma-10",
        Rhel8 = "rhel-8",
        Rhel9 = "rhel-9",
        Rhel10 = "rhel-10",
        CentosStream9 = "centos-stream-9",
        CentosStream10 = "centos-stream-10",
        /// The release is detected on the host.
        Linux = "linux",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OsFamily {
    Windows,
    Linux,
}

impl HostOs {
    pub fn family(self) -> OsFamily {
        match self {
            Self::Windows
            | Self::Windows1709
            | Self::Windows1803
            | Self::Windows2016
            | Self::Windows2019
            | Self::Windows2022
            | Self::Windows2025 => OsFamily::Windows,
            _ => OsFamily::Linux,
        }
    }

    pub fn is_windows(self) -> bool {
        self.family() == OsFamily::Windows
    }

    pub fn is_generic(self) -> bool {
        matches!(self, Self::Windows | Self::Linux)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;

    #[test]
    fn windows_names_are_windows() {
        for os in HostOs::ALL {
            assert_eq!(os.is_windows(), os.name().starts_with("windows"), "{os}");
        }
    }
}
