//! Errors, and how callers distinguish them.

use crate::guid::InvalidGuid;

/// HRESULTs that callers handle.
pub mod code {
    /// Element not found: an unknown namespace or load balancer.
    pub const ELEMENT_NOT_FOUND: u32 = 0x8007_0490;
    /// The network was not found.
    pub const NETWORK_NOT_FOUND: u32 = 0x803B_0001;
    /// The endpoint was not found.
    pub const ENDPOINT_NOT_FOUND: u32 = 0x803B_0002;
    /// No network adapter fits the network to create.
    pub const ADAPTER_NOT_FOUND: u32 = 0x803B_0006;
    /// The switch port was not found.
    pub const PORT_NOT_FOUND: u32 = 0x803B_0007;
    /// A network with this name already exists.
    pub const NETWORK_EXISTS: u32 = 0x803B_0010;
    /// The port already exists, or has another owner.
    pub const PORT_EXISTS: u32 = 0x803B_0013;
    /// The endpoint is already attached.
    pub const ALREADY_ATTACHED: u32 = 0x803B_0014;
    /// The endpoint is already in a namespace.
    pub const ALREADY_IN_NAMESPACE: u32 = 0x803B_002B;
    /// The object already exists: an address in use.
    pub const OBJECT_EXISTS: u32 = 0x8007_1392;
    /// The service is not running.
    pub const SERVICE_DOWN: u32 = 0x8007_06B5;
    /// A failure without a code.
    pub const UNSPECIFIED: u32 = 0x8000_4005;
}

#[derive(Debug, thiserror::Error)]
pub enum HcnError {
    /// Also on platforms other than Windows.
    #[error("`{library}` not found on this host")]
    MissingLibrary { library: &'static str },
    /// The library is too old.
    #[error("`{library}` has no function `{function}`")]
    MissingFunction {
        library: &'static str,
        function: String,
    },
    /// The call returned an error.
    #[error("`{call}` failed: {text} (0x{code:08X})")]
    Refused {
        /// The function, or method and path.
        call: String,
        /// The HRESULT.
        code: u32,
        /// Windows' message, in the host's language.
        text: String,
    },
    /// Not JSON, or not in the expected format.
    #[error("invalid response to `{call}`: {reason}")]
    InvalidResponse {
        /// The function, or method and path.
        call: String,
        reason: String,
    },
    #[error(transparent)]
    Id(#[from] InvalidGuid),
}

impl HcnError {
    pub fn is_not_found(&self) -> bool {
        matches!(
            self.hresult(),
            Some(
                code::ELEMENT_NOT_FOUND
                    | code::NETWORK_NOT_FOUND
                    | code::ENDPOINT_NOT_FOUND
                    | code::PORT_NOT_FOUND
            )
        )
    }

    pub fn is_already_attached(&self) -> bool {
        matches!(
            self.hresult(),
            Some(code::ALREADY_ATTACHED | code::ALREADY_IN_NAMESPACE)
        )
    }

    pub fn is_absent(&self) -> bool {
        matches!(self, Self::MissingLibrary { .. })
    }

    /// The HRESULT, if the call returned one.
    pub fn hresult(&self) -> Option<u32> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What to do, if known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::MissingLibrary { .. } => {
                Some("install the Windows feature `Containers` and restart the host")
            }
            Self::MissingFunction { .. } => {
                Some("use Windows Server 2019 or newer, with its updates installed")
            }
            Self::Refused { code, .. } if *code == code::SERVICE_DOWN => {
                Some("start the service `hns`")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u32) -> HcnError {
        HcnError::Refused {
            call: "HcnOpenNetwork".to_owned(),
            code,
            text: "no".to_owned(),
        }
    }

    #[test]
    fn every_not_found_code_is_recognized() {
        for code in [0x8007_0490, 0x803B_0001, 0x803B_0002, 0x803B_0007] {
            assert!(refused(code).is_not_found(), "{code:X}");
        }
        assert!(!refused(code::NETWORK_EXISTS).is_not_found());
        assert!(!refused(code::ADAPTER_NOT_FOUND).is_not_found());
    }

    #[test]
    fn an_error_names_call_code_and_text() {
        assert_eq!(
            refused(code::NETWORK_EXISTS).to_string(),
            "`HcnOpenNetwork` failed: no (0x803B0010)"
        );
    }

    #[test]
    fn a_missing_library_has_help() {
        let error = HcnError::MissingLibrary {
            library: "computenetwork.dll",
        };
        assert!(error.is_absent());
        assert!(error.help().unwrap().contains("`Containers`"));
    }
}
