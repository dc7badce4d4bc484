//! Units, with a fake `systemctl`.

use std::fs;

use casement_resource::{Code, Prior, Resource, SystemdUnit, UnitState};

use super::{Host, Secrets};
use crate::kinds;

fn unit(name: &str, state: UnitState) -> Resource {
    Resource::SystemdUnit(SystemdUnit {
        name: name.parse().unwrap(),
        state,
    })
}

/// Each unit is a directory with its unit file state, mask and active state.
const SYSTEMCTL: &str = r#"
[ "$1 $2" = '--no-pager --no-ask-password' ]; shift 2
verb=$1; shift; [ "$verb" != show ] || { properties=$1; shift; }
[ "$1" = -- ]; unit=$ROOT/units/$2
case $verb in
show)
  [ "$properties" = --property=LoadState,UnitFileState,ActiveState ]
  if [ -e "$unit/masked" ]; then echo LoadState=masked; echo UnitFileState=masked
  elif [ -e "$unit/file" ]; then echo LoadState=loaded; echo "UnitFileState=$(cat "$unit/file")"
  else echo LoadState=not-found; echo UnitFileState=; fi
  if [ -e "$unit/active" ]; then echo ActiveState=active; else echo ActiveState=inactive; fi ;;
enable | disable) [ -e "$unit/file" ]; [ ! -e "$unit/masked" ]; echo "${verb}d" >"$unit/file" ;;
mask) mkdir -p "$unit"; : >"$unit/masked" ;;
unmask) rm "$unit/masked" ;;
start) [ -e "$unit/file" ]; [ ! -e "$unit/masked" ]; : >"$unit/active" ;;
stop) rm "$unit/active" ;;
esac"#;

fn host() -> Host {
    let host = Host::new();
    fs::create_dir_all(host.root().join("run/systemd/system")).unwrap();
    host.program("systemctl", SYSTEMCTL);
    host.write("units/on.service/file", "enabled\n");
    host.write("units/on.service/active", "");
    host.write("units/off.service/file", "disabled\n");
    host.write("units/dev-sda2.swap/file", "generated\n");
    host.write("units/dev-sda2.swap/active", "");
    host
}

#[test]
fn units_are_changed_and_restored() {
    let in_sync = [
        ("on.service", UnitState::On),
        ("off.service", UnitState::Off),
        ("none.service", UnitState::Off),
    ];
    let out_of_sync = [
        ("on.service", UnitState::Off),
        ("on.service", UnitState::Masked),
        ("off.service", UnitState::On),
        ("off.service", UnitState::Masked),
        ("dev-sda2.swap", UnitState::Off),
        ("dev-sda2.swap", UnitState::Masked),
        ("none.service", UnitState::Masked),
    ];
    let host = host();
    for (name, state) in in_sync {
        assert!(host.in_sync(&unit(name, state)), "{name} {state:?}");
    }
    for (name, state) in out_of_sync {
        let resource = unit(name, state);
        let prior = host.apply(&resource);
        let secrets = Secrets::new();
        host.undo(&resource, &prior);
        let now = kinds::prior(&host.context(&secrets), &resource).unwrap();
        assert_eq!(now, prior, "{name} {state:?}");
    }
    assert!(!host.root().join("units/none.service/masked").exists());
}

#[test]
fn missing_unit_cannot_be_on() {
    let host = host();
    let secrets = Secrets::new();
    let resource = unit("none.service", UnitState::On);
    let failure = kinds::prior(&host.context(&secrets), &resource).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
    kinds::undo(
        &host.context(&secrets),
        &resource,
        &Prior::SystemdUnit(None),
    )
    .unwrap();
    fs::remove_dir(host.root().join("run/systemd/system")).unwrap();
    let failure = kinds::observe(&host.context(&secrets), &resource).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
}

#[test]
fn unit_of_an_administrator_is_reported_and_not_masked() {
    let host = host();
    host.write("etc/systemd/system/on.service", "[Service]\n");
    let secrets = Secrets::new();
    let context = host.context(&secrets);
    let resource = unit("on.service", UnitState::Masked);
    let prior = kinds::prior(&context, &resource).unwrap();
    let failure = kinds::apply(&context, &resource, &prior, None).unwrap_err();
    assert_eq!(failure.code, Code::Foreign);
    host.undo(&resource, &prior);
    assert!(host.in_sync(&unit("on.service", UnitState::On)));
}
