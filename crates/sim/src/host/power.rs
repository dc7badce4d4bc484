//! Power of a simulated host: switched off and on by a test, or cycled by the agent when
//! Windows requires a reboot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use casement_node::sim::World;
use casement_resource::WindowsFeatureFacts;

use super::{Inner, SimHost};

/// How long a reboot takes. A real one takes minutes.
const BOOT_TIME: Duration = Duration::from_millis(300);

pub(crate) struct Power {
    /// Whether the service `casement` was installed at power-off.
    installed: AtomicBool,
    boot: AtomicU32,
    down: AtomicBool,
}

impl Power {
    pub(crate) fn new(boot: u32) -> Self {
        Self {
            installed: AtomicBool::default(),
            boot: AtomicU32::new(boot),
            down: AtomicBool::default(),
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }

    pub(crate) fn wait_until_up(&self) {
        while self.is_down() {
            thread::sleep(BOOT_TIME / 10);
        }
    }
}

impl SimHost {
    /// Switches the host off: connections and non-persistent HNS state are lost.
    pub fn power_off(&self) {
        self.inner.cut();
        let service = self.inner.sim_service().take();
        let power = &self.inner.power;
        power.installed.store(service.is_some(), Ordering::SeqCst);
        self.inner.sim.modify_world(World::reboot);
        let boot = self.inner.sim.world().boot;
        power.boot.store(boot, Ordering::SeqCst);
    }

    /// Switches it on: the service `casement` starts if it was installed.
    pub fn power_on(&self) {
        if self.inner.power.installed.load(Ordering::SeqCst) {
            self.inner.service_client();
        }
    }

    /// Whether Windows features wait for a reboot.
    #[must_use]
    pub fn needs_reboot(&self) -> bool {
        let now = self.inner.sim.world();
        let mut current = now.clone();
        apply_pending_features(&mut current);
        current != now
    }
}

impl Inner {
    /// Closes every connection. If the host reboots, its service stops as well and starts
    /// again with the host.
    pub(crate) fn handle_disconnect(self: &Arc<Self>) {
        let boot = self.sim.world().boot;
        let before = self.power.boot.swap(boot, Ordering::SeqCst);
        // Refuse new connections before closing the open ones, so that none slips in.
        if boot != before {
            self.power.down.store(true, Ordering::SeqCst);
        }
        self.cut();
        if boot == before {
            return;
        }
        self.sim_service().take();
        let host = Arc::downgrade(self);
        thread::spawn(move || {
            thread::sleep(BOOT_TIME);
            if let Some(host) = host.upgrade() {
                host.power.down.store(false, Ordering::SeqCst);
                host.service_client();
            }
        });
    }
}

/// Applies pending feature changes, as the next boot does.
pub(crate) fn apply_pending_features(world: &mut World) {
    for feature in world.features.values_mut() {
        feature.state = match feature.state {
            WindowsFeatureFacts::OnAfterBoot => WindowsFeatureFacts::On,
            WindowsFeatureFacts::OffAfterBoot => WindowsFeatureFacts::Off,
            current => current,
        };
    }
}
