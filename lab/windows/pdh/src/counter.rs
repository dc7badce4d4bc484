//! Counters and their paths.

/// The counters that the kubelet reads (`pkg/kubelet/winstats`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Busy share of all processors, in percent.
    ProcessorTime,
    /// Memory of all processes on the host, in bytes.
    WorkingSet,
    /// Memory committed to processes, in bytes.
    CommittedBytes,
    /// One value per network adapter.
    Adapter(AdapterCounter),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterCounter {
    PacketsReceived,
    PacketsSent,
    BytesReceived,
    BytesSent,
    ReceivedDiscarded,
    ReceivedErrors,
    OutboundDiscarded,
    OutboundErrors,
}

impl Counter {
    /// Parses `\Object(Instance)\Counter`; case-insensitive.
    pub fn parse(path: &str) -> Option<Self> {
        use AdapterCounter as A;
        Some(match path.to_ascii_lowercase().as_str() {
            r"\processor(_total)\% processor time" => Self::ProcessorTime,
            r"\process(_total)\working set - private" => Self::WorkingSet,
            r"\memory\committed bytes" => Self::CommittedBytes,
            path => Self::Adapter(match path.strip_prefix(r"\network adapter(*)\")? {
                "packets received/sec" => A::PacketsReceived,
                "packets sent/sec" => A::PacketsSent,
                "bytes received/sec" => A::BytesReceived,
                "bytes sent/sec" => A::BytesSent,
                "packets received discarded" => A::ReceivedDiscarded,
                "packets received errors" => A::ReceivedErrors,
                "packets outbound discarded" => A::OutboundDiscarded,
                "packets outbound errors" => A::OutboundErrors,
                _ => return None,
            }),
        })
    }
}

impl AdapterCounter {
    /// Whether the value is a rate and not a total.
    pub fn is_rate(self) -> bool {
        matches!(
            self,
            Self::PacketsReceived | Self::PacketsSent | Self::BytesReceived | Self::BytesSent
        )
    }
}
