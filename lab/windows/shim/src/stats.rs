//! Resource usage of a container, in the format of Microsoft's shim.

use containerd_shim::Error;
use containerd_shim::protos::protobuf::MessageField;
use containerd_shim::protos::protobuf::well_known_types::any::Any;
use containerd_shim::protos::protobuf::well_known_types::timestamp::Timestamp;
use containerd_shim::protos::windows::stats::{
    Statistics, WindowsContainerMemoryStatistics, WindowsContainerProcessorStatistics,
    WindowsContainerStatistics, WindowsContainerStorageStatistics,
};
use containerd_shim::util::{convert_to_any, timestamp};
use lab_wire::container::Usage;

/// Storage and peak memory are not measured and stay zero.
pub fn encode(created_at: &Timestamp, usage: &Usage) -> Result<Any, Error> {
    let now = timestamp()?;
    let mut windows = WindowsContainerStatistics {
        uptime_ns: elapsed_ns(created_at, &now),
        container_start_time: MessageField::some(created_at.clone()),
        storage: MessageField::some(WindowsContainerStorageStatistics::new()),
        ..WindowsContainerStatistics::default()
    };
    windows.timestamp = MessageField::some(now);
    windows.processor = MessageField::some(WindowsContainerProcessorStatistics {
        total_runtime_ns: usage.user_ns + usage.kernel_ns,
        runtime_user_ns: usage.user_ns,
        runtime_kernel_ns: usage.kernel_ns,
        ..WindowsContainerProcessorStatistics::default()
    });
    windows.memory = MessageField::some(WindowsContainerMemoryStatistics {
        memory_usage_commit_bytes: usage.commit_bytes,
        memory_usage_private_working_set_bytes: usage.private_working_set_bytes,
        ..WindowsContainerMemoryStatistics::default()
    });
    let mut statistics = Statistics::new();
    statistics.set_windows(windows);
    convert_to_any(Box::new(statistics))
}

fn elapsed_ns(from: &Timestamp, to: &Timestamp) -> u64 {
    let nanos =
        |time: &Timestamp| i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos);
    u64::try_from(nanos(to) - nanos(from)).unwrap_or(0)
}
