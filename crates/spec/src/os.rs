//! Operating systems.

use crate::named::named;

named! {
    /// The operating system of a host.
    pub enum HostOs {
        /// Windows Server 2022
        Windows2022 = "windows-2022",
        /// Windows Server 2019
        Windows2019 = "windows-2019",
        /// Windows Server 2025
        Windows2025 = "windows-2025",
        /// Windows Server 2016
        Windows2016 = "windows-2016",
        /// Windows Server, version 1803
        Windows1803 = "windows-1803",
        /// Windows Server, version 1709
        Windows1709 = "windows-1709",
        /// Windows Server, which one is found out
        Windows = "windows",
        /// Ubuntu 16.04
        Ubuntu1604 = "ubuntu-16.04",
        /// Ubuntu 18.04
        Ubuntu1804 = "ubuntu-18.04",
        /// Ubuntu 20.04
        Ubuntu2004 = "ubuntu-20.04",
        /// Ubuntu 22.04
        Ubuntu2204 = "ubuntu-22.04",
        /// Ubuntu 24.04
        Ubuntu2404 = "ubuntu-24.04",
        /// Ubuntu 26.04
        Ubuntu2604 = "ubuntu-26.04",
        /// Debian 11
        Debian11 = "debian-11",
        /// Debian 12
        Debian12 = "debian-12",
        /// Debian 13
        Debian13 = "debian-13",
        /// Rocky Linux 8
        Rocky8 = "rocky-8",
        /// Rocky Linux 9
        Rocky9 = "rocky-9",
        /// Rocky Linux 10
        Rocky10 = "rocky-10",
        /// AlmaLinux 8
        Alma8 = "alma-8",
        /// AlmaLinux 9
        Alma9 = "alma-9",
        /// AlmaLinux 10
        Alma10 = "alma-10",
        /// Red Hat Enterprise Linux 8
        Rhel8 = "rhel-8",
        /// Red Hat Enterprise Linux 9
        Rhel9 = "rhel-9",
        /// Red Hat Enterprise Linux 10
        Rhel10 = "rhel-10",
        /// CentOS Stream 9
        CentosStream9 = "centos-stream-9",
        /// CentOS Stream 10
        CentosStream10 = "centos-stream-10",
        /// Linux, which one is found out
        Linux = "linux",
    }
}

/// The two kinds of operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OsFamily {
    /// Any Windows Server.
    Windows,
    /// Any Linux.
    Linux,
}

impl HostOs {
    /// Which kind it is.
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

    /// Whether it is any Windows.
    pub fn is_windows(self) -> bool {
        self.family() == OsFamily::Windows
    }

    /// Whether the version is left to be found out.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Windows | Self::Linux)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;

    #[test]
    fn what_is_called_windows_is_windows() {
        for os in HostOs::ALL {
            assert_eq!(os.is_windows(), os.name().starts_with("windows"), "{os}");
        }
    }
}
