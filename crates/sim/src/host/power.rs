//! The power of a simulated host: it is taken and given back by a test, or the agent
//! boots the host because Windows wants it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use casement_node::sim::World;
use casement_resource::WindowsFeatureFacts;

use super::{Inner, SimHost};

/// How long a host is away when it boots. A real one takes minutes.
const BOOT: Duration = Duration::from_millis(300);

/// What is known of a host's boots.
pub(crate) struct Power {
    /// Whether it had the service `casement` when its power went.
    installed: AtomicBool,
    /// The last boot that was noticed.
    boot: AtomicU32,
    /// Whether nobody answers there now.
    down: AtomicBool,
}

impl Power {
    /// A host that stands since this boot.
    pub(crate) fn since(boot: u32) -> Self {
        Self {
            installed: AtomicBool::default(),
            boot: AtomicU32::new(boot),
            down: AtomicBool::default(),
        }
    }

    /// Whether nobody answers there now.
    pub(crate) fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }

    /// Waits until somebody answers.
    pub(crate) fn wait(&self) {
        while self.is_down() {
            thread::sleep(BOOT / 10);
        }
    }
}

impl SimHost {
    /// Takes its power: connections are lost, and what HNS does not keep.
    pub fn power_off(&self) {
        self.inner.cut();
        let door = self.inner.door().take();
        let power = &self.inner.power;
        power.installed.store(door.is_some(), Ordering::SeqCst);
        self.inner.sim.meddle(World::reboot);
        let boot = self.inner.sim.world().boot;
        power.boot.store(boot, Ordering::SeqCst);
    }

    /// Gives it back: the service `casement` starts where it was installed.
    pub fn power_on(&self) {
        if self.inner.power.installed.load(Ordering::SeqCst) {
            self.inner.backstage();
        }
    }

    /// Whether Windows waits for a boot to put its features where they are told to
    /// be.
    #[must_use]
    pub fn waits_for_boot(&self) -> bool {
        let now = self.inner.sim.world();
        let mut settled = now.clone();
        settle(&mut settled);
        settled != now
    }
}

impl Inner {
    /// Every connection is gone; if that is because the host boots, its service goes
    /// too, and is back with the host.
    pub(crate) fn lose_connections(self: &Arc<Self>) {
        let boot = self.sim.world().boot;
        let before = self.power.boot.swap(boot, Ordering::SeqCst);
        // Nobody comes in between: the door is closed before they are thrown out.
        if boot != before {
            self.power.down.store(true, Ordering::SeqCst);
        }
        self.cut();
        if boot == before {
            return;
        }
        self.door().take();
        let host = Arc::downgrade(self);
        thread::spawn(move || {
            thread::sleep(BOOT);
            if let Some(host) = host.upgrade() {
                host.power.down.store(false, Ordering::SeqCst);
                host.backstage();
            }
        });
    }
}

/// Puts features where the next boot puts them.
pub(crate) fn settle(world: &mut World) {
    for feature in world.features.values_mut() {
        feature.state = match feature.state {
            WindowsFeatureFacts::OnAfterBoot => WindowsFeatureFacts::On,
            WindowsFeatureFacts::OffAfterBoot => WindowsFeatureFacts::Off,
            settled => settled,
        };
    }
}
