//! Environment and registry of a simulated host.

use casement_resource::RegistryData;

use super::{Sim, refused};
use crate::platform::{Environment, Registry, Result};

impl Environment for Sim {
    fn env(&self, name: &str) -> Result<Option<String>> {
        self.read("env")?;
        Ok(self.lock().variables.get(name).cloned())
    }

    fn set_env(&self, name: &str, value: Option<&str>) -> Result<()> {
        self.change(&format!("set_env {name}"), |world| {
            match value {
                Some(value) => world.variables.insert(name.to_owned(), value.to_owned()),
                None => world.variables.remove(name),
            };
            Ok(())
        })
    }

    fn path_entries(&self) -> Result<Vec<String>> {
        self.read("path_entries")?;
        Ok(self.lock().search_path.clone())
    }

    fn set_path_entries(&self, entries: &[String]) -> Result<()> {
        self.change("set_path_entries", |world| {
            world.search_path = entries.to_vec();
            Ok(())
        })
    }
}

impl Registry for Sim {
    fn registry_key_exists(&self, key: &str) -> Result<bool> {
        self.read("registry_key_exists")?;
        Ok(self.lock().keys.contains(key))
    }

    fn registry_value(&self, key: &str, name: &str) -> Result<Option<RegistryData>> {
        self.read("registry_value")?;
        Ok(self
            .lock()
            .values
            .get(&(key.to_owned(), name.to_owned()))
            .cloned())
    }

    fn set_registry_value(&self, key: &str, name: &str, data: &RegistryData) -> Result<()> {
        self.change(&format!("set_registry_value {key} {name}"), |world| {
            let mut made = String::new();
            for part in key.split('\\') {
                if !made.is_empty() {
                    made.push('\\');
                }
                made.push_str(part);
                world.keys.insert(made.clone());
            }
            world
                .values
                .insert((key.to_owned(), name.to_owned()), data.clone());
            Ok(())
        })
    }

    fn delete_registry_value(&self, key: &str, name: &str) -> Result<()> {
        self.change(&format!("delete_registry_value {key} {name}"), |world| {
            world.values.remove(&(key.to_owned(), name.to_owned()));
            Ok(())
        })
    }

    fn delete_empty_registry_key(&self, key: &str) -> Result<bool> {
        if !key.contains('\\') {
            return Err(refused("delete_empty_registry_key", "a hive"));
        }
        self.change(&format!("delete_empty_registry_key {key}"), |world| {
            let below = format!("{key}\\");
            let empty = !world.values.keys().any(|(it, _)| it == key)
                && !world.keys.iter().any(|it| it.starts_with(&below));
            if empty {
                world.keys.remove(key);
            }
            Ok(empty)
        })
    }
}
