//! Units, with a stand-in for `systemctl`.

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

/// Each unit is a folder with what its file says, its mask, its state.
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
    host.put("units/on.service/file", "enabled\n");
    host.put("units/on.service/active", "");
    host.put("units/off.service/file", "disabled\n");
    host.put("units/dev-sda2.swap/file", "generated\n");
    host.put("units/dev-sda2.swap/active", "");
    host
}

#[test]
fn units_are_switched_and_come_back() {
    let right = [
        ("on.service", UnitState::On),
        ("off.service", UnitState::Off),
        ("none.service", UnitState::Off),
    ];
    let wrong = [
        ("on.service", UnitState::Off),
        ("on.service", UnitState::Masked),
        ("off.service", UnitState::On),
        ("off.service", UnitState::Masked),
        ("dev-sda2.swap", UnitState::Off),
        ("dev-sda2.swap", UnitState::Masked),
        ("none.service", UnitState::Masked),
    ];
    let host = host();
    for (name, state) in right {
        assert!(host.is_right(&unit(name, state)), "{name} {state:?}");
    }
    for (name, state) in wrong {
        let wanted = unit(name, state);
        let prior = host.make(&wanted);
        let secrets = Secrets::new();
        host.undo(&wanted, &prior);
        let now = kinds::prior(&host.place(&secrets), &wanted).unwrap();
        assert_eq!(now, prior, "{name} {state:?}");
    }
    assert!(!host.root().join("units/none.service/masked").exists());
}

#[test]
fn a_unit_that_is_not_there_cannot_be_on() {
    let host = host();
    let secrets = Secrets::new();
    let wanted = unit("none.service", UnitState::On);
    let failure = kinds::prior(&host.place(&secrets), &wanted).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
    kinds::undo(&host.place(&secrets), &wanted, &Prior::SystemdUnit(None)).unwrap();
    fs::remove_dir(host.root().join("run/systemd/system")).unwrap();
    let failure = kinds::look(&host.place(&secrets), &wanted).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
}

#[test]
fn a_unit_of_an_administrators_own_is_named_and_not_masked() {
    let host = host();
    host.put("etc/systemd/system/on.service", "[Service]\n");
    let secrets = Secrets::new();
    let at = host.place(&secrets);
    let wanted = unit("on.service", UnitState::Masked);
    let prior = kinds::prior(&at, &wanted).unwrap();
    let failure = kinds::change(&at, &wanted, &prior, None).unwrap_err();
    assert_eq!(failure.code, Code::Foreign);
    host.undo(&wanted, &prior);
    assert!(host.is_right(&unit("on.service", UnitState::On)));
}
