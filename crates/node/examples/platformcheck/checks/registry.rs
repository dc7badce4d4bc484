//! Registry and environment.

use casement_resource::{Failure, RegistryData};

use super::{Check, Host, Outcome, ensure, equal, ok};

pub const CHECKS: &[Check] = &[
    ("registry values", values),
    ("empty keys", keys),
    ("environment", environment),
    ("search path", path),
];

/// Left behind for `reg query`.
const KEY: &str = r"SOFTWARE\casement\platformcheck";

pub fn clean(host: &Host) -> Result<(), Failure> {
    for name in ["text", "number", "texts", "expand"] {
        host.platform.delete_registry_value(KEY, name)?;
    }
    for key in [KEY, r"SOFTWARE\casement"] {
        host.platform.delete_empty_registry_key(key)?;
    }
    Ok(())
}

fn values(host: &Host) -> Outcome {
    let registry = &host.platform;
    let expected = [
        ("text", RegistryData::Text("a b ü".to_owned())),
        ("number", RegistryData::Number(4096)),
        (
            "texts",
            RegistryData::MultiText(vec!["one".to_owned(), "two".to_owned()]),
        ),
        (
            "expand",
            RegistryData::ExpandText(r"%SystemRoot%\x".to_owned()),
        ),
    ];
    for (name, data) in &expected {
        equal(ok(registry.registry_value(KEY, name))?, None)?;
        ok(registry.set_registry_value(KEY, name, data))?;
        equal(ok(registry.registry_value(KEY, name))?.as_ref(), Some(data))?;
    }
    let bytes = RegistryData::Other {
        type_number: 3,
        bytes: vec![1, 2, 3],
    };
    // The exclusion lists of Defender use paths as value names.
    for name in ["bytes", r"C:\Program Files\x"] {
        ok(registry.set_registry_value(KEY, name, &bytes))?;
        equal(
            ok(registry.registry_value(KEY, name))?.as_ref(),
            Some(&bytes),
        )?;
        ok(registry.delete_registry_value(KEY, name))?;
        ok(registry.delete_registry_value(KEY, name))?;
        equal(ok(registry.registry_value(KEY, name))?, None)?;
    }
    Ok(())
}

fn keys(host: &Host) -> Outcome {
    let registry = &host.platform;
    equal(ok(registry.delete_empty_registry_key(KEY))?, false)?;
    let key = format!(r"{KEY}\empty");
    ok(registry.set_registry_value(&key, "x", &RegistryData::Number(1)))?;
    equal(ok(registry.registry_key_exists(&key))?, true)?;
    ok(registry.delete_registry_value(&key, "x"))?;
    equal(ok(registry.delete_empty_registry_key(&key))?, true)?;
    equal(ok(registry.delete_empty_registry_key(&key))?, true)?;
    equal(ok(registry.registry_key_exists(&key))?, false)
}

fn environment(host: &Host) -> Outcome {
    let environment = &host.platform;
    equal(ok(environment.env("PLATFORMCHECK"))?, None)?;
    ok(environment.set_env("PLATFORMCHECK", Some("1")))?;
    equal(ok(environment.env("platformcheck"))?, Some("1".to_owned()))?;
    ok(environment.set_env("PLATFORMCHECK", None))?;
    equal(ok(environment.env("PLATFORMCHECK"))?, None)
}

fn path(host: &Host) -> Outcome {
    const KEY: &str = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment";
    let platform = &host.platform;
    let data = || ok(platform.registry_value(KEY, "Path"));
    let before = data()?;
    let entries = ok(platform.path_entries())?;
    let mut more = entries.clone();
    more.push(r"C:\platformcheck".to_owned());
    ok(platform.set_path_entries(&more))?;
    equal(ok(platform.path_entries())?, more)?;
    ensure(
        matches!(
            (&before, data()?),
            (
                Some(RegistryData::ExpandText(_)),
                Some(RegistryData::ExpandText(_))
            ) | (Some(RegistryData::Text(_)), Some(RegistryData::Text(_)))
        ),
        "the registry type changed",
    )?;
    ok(platform.set_path_entries(&entries))?;
    equal(data()?, before)
}
