//! Counters and their paths.

/// The counters that the kubelet reads (`pkg/kubelet/winstats`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Share of all processors that is busy, in percent.
    ProcessorTime,
    /// Memory of all processes of the host, in bytes.
    WorkingSet,
    /// Memory that is promised to processes, in bytes.
    CommittedBytes,
    /// A value per network adapter.
    Adapter(AdapterCounter),
}

/// What is counted of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as Windows names them")]
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
    /// Understands `\Object(Instance)\Counter`; letter case does not matter.
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
    /// Whether the value is a rate rather than a sum since the start.
    pub fn per_second(self) -> bool {
        matches!(
            self,
            Self::PacketsReceived | Self::PacketsSent | Self::BytesReceived | Self::BytesSent
        )
    }
}
