//! What can go wrong, and what a caller can tell apart.

use crate::guid::NotAGuid;

/// HRESULTs that callers act upon.
pub mod code {
    /// Element not found: an unknown namespace or load balancer.
    pub const ELEMENT_NOT_FOUND: u32 = 0x8007_0490;
    /// The network was not found.
    pub const NETWORK_NOT_FOUND: u32 = 0x803B_0001;
    /// The endpoint was not found.
    pub const ENDPOINT_NOT_FOUND: u32 = 0x803B_0002;
    /// No network adapter serves the network that is to be made.
    pub const ADAPTER_NOT_FOUND: u32 = 0x803B_0006;
    /// The switch port was not found.
    pub const PORT_NOT_FOUND: u32 = 0x803B_0007;
    /// A network with this name already exists.
    pub const NETWORK_EXISTS: u32 = 0x803B_0010;
    /// The port already exists, or belongs to somebody else.
    pub const PORT_EXISTS: u32 = 0x803B_0013;
    /// The endpoint is already attached.
    pub const ALREADY_ATTACHED: u32 = 0x803B_0014;
    /// The endpoint is already in a namespace.
    pub const ALREADY_IN_NAMESPACE: u32 = 0x803B_002B;
    /// The object already exists: an address that is taken.
    pub const OBJECT_EXISTS: u32 = 0x8007_1392;
    /// The service does not run.
    pub const SERVICE_DOWN: u32 = 0x8007_06B5;
    /// A failure that came without a code.
    pub const UNSPECIFIED: u32 = 0x8000_4005;
}

/// Why a call to the host compute network did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum HcnError {
    /// The library is not on this host, or this is no Windows.
    #[error("`{library}` is not on this host")]
    Absent {
        /// The library's file name.
        library: &'static str,
    },
    /// The library is there, but is too old for a function.
    #[error("`{library}` has no function `{function}`")]
    Incomplete {
        /// The library's file name.
        library: &'static str,
        /// What was looked for in it.
        function: String,
    },
    /// The service was asked and refused.
    #[error("`{call}` failed: {text} (0x{code:08X})")]
    Refused {
        /// The function, or method and path.
        call: String,
        /// The HRESULT.
        code: u32,
        /// Windows' own words, in the host's language.
        text: String,
    },
    /// The answer is no JSON, or not of the form that was agreed.
    #[error("the answer to `{call}` cannot be read: {reason}")]
    Answer {
        /// The function, or method and path.
        call: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Text that should be an id.
    #[error(transparent)]
    Id(#[from] NotAGuid),
}

impl HcnError {
    /// Whether the object that the call was about does not exist.
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

    /// Whether the endpoint was attached before the call.
    pub fn is_already_attached(&self) -> bool {
        matches!(
            self.hresult(),
            Some(code::ALREADY_ATTACHED | code::ALREADY_IN_NAMESPACE)
        )
    }

    /// Whether the host has no such library.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    /// The HRESULT, where the service answered with one.
    pub fn hresult(&self) -> Option<u32> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Absent { .. } => {
                Some("install the Windows feature `Containers` and restart the host")
            }
            Self::Incomplete { .. } => {
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
    fn every_way_to_say_not_found_is_recognised() {
        for code in [0x8007_0490, 0x803B_0001, 0x803B_0002, 0x803B_0007] {
            assert!(refused(code).is_not_found(), "{code:X}");
        }
        assert!(!refused(code::NETWORK_EXISTS).is_not_found());
        assert!(!refused(code::ADAPTER_NOT_FOUND).is_not_found());
    }

    #[test]
    fn a_refusal_names_call_code_and_text() {
        assert_eq!(
            refused(code::NETWORK_EXISTS).to_string(),
            "`HcnOpenNetwork` failed: no (0x803B0010)"
        );
    }

    #[test]
    fn an_absent_library_comes_with_its_remedy() {
        let error = HcnError::Absent {
            library: "computenetwork.dll",
        };
        assert!(error.is_absent());
        assert!(error.remedy().unwrap().contains("`Containers`"));
    }
}
