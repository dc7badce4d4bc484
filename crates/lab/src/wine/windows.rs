//! The supported Windows Server releases and their version numbers.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowsRelease {
    #[serde(rename = "2019")]
    Server2019,
    #[serde(rename = "2022")]
    Server2022,
    #[serde(rename = "2025")]
    Server2025,
}

impl WindowsRelease {
    pub const ALL: [Self; 3] = [Self::Server2019, Self::Server2022, Self::Server2025];

    pub fn build(self) -> u32 {
        match self {
            Self::Server2019 => 17763,
            Self::Server2022 => 20348,
            Self::Server2025 => 26100,
        }
    }

    /// The update level within the build (the registry's `UBR`).
    pub fn revision(self) -> u32 {
        match self {
            Self::Server2019 => 7314,
            Self::Server2022 => 3807,
            Self::Server2025 => 4061,
        }
    }

    /// The value of `--windows`.
    pub fn year(self) -> &'static str {
        match self {
            Self::Server2019 => "2019",
            Self::Server2022 => "2022",
            Self::Server2025 => "2025",
        }
    }

    /// The registry's `DisplayVersion`/`ReleaseId`.
    pub fn display_version(self) -> &'static str {
        match self {
            Self::Server2019 => "1809",
            Self::Server2022 => "21H2",
            Self::Server2025 => "24H2",
        }
    }

    /// For example `10.0.20348.3807`, as in image indexes.
    pub fn version(self) -> String {
        format!("10.0.{}.{}", self.build(), self.revision())
    }
}

impl std::str::FromStr for WindowsRelease {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "2019" => Ok(Self::Server2019),
            "2022" => Ok(Self::Server2022),
            "2025" => Ok(Self::Server2025),
            _ => Err(format!("`{text}` is not supported; use 2019, 2022, 2025")),
        }
    }
}

impl std::fmt::Display for WindowsRelease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Windows Server {} ({})", self.year(), self.version())
    }
}
