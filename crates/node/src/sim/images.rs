//! Images of a simulated host: `ctr` and `docker`.

use serde_json::json;

use super::world::{SimImage, World};
use super::{Sim, refused};
use crate::platform::{ProgramExit, Result};

impl Sim {
    /// Responds only while containerd runs.
    pub(super) fn ctr(&self, arguments: &[&str]) -> Result<ProgramExit> {
        if let Some(answer) = self.ctr_containers(arguments) {
            return answer;
        }
        match arguments {
            ["images", "check", filter] => Ok(self.print(|world| {
                let (name, head) = (name_of(filter), "REF TYPE DIGEST STATUS SIZE UNPACKED\n");
                let image = world.images.get(name)?;
                let status = if image.complete {
                    "complete (3/3) 1.0 MiB/1.0 MiB true"
                } else {
                    "incomplete (1/3) 1.0 KiB/1.0 MiB false"
                };
                Some(format!(
                    "{head}{name} application/json {} {status}",
                    image.id
                ))
            })),
            ["images", "list", filter] => Ok(self.print(|world| {
                let (name, head) = (name_of(filter), "REF TYPE DIGEST SIZE PLATFORMS LABELS\n");
                let image = world.images.get(name);
                image.map(|it| format!("{head}{name} application/json {} 1.0 KiB - -", it.id))
            })),
            [
                "content",
                "fetch",
                "--metadata-only",
                "--hosts-dir",
                _,
                name,
            ] => self.pull(name, false),
            ["content", "get", id] => Ok(self.print(|world| manifest(world, id))),
            ["images", "pull", "--hosts-dir", _, name] => self.pull(name, true),
            ["images", "tag", "--force", name, tag] => self.tag_image(name, tag),
            ["run", "--rm", name, _, ..] => Ok(self.run_image(name)),
            ["images", "remove", "--sync", name] => self.remove_image(name),
            _ => Err(refused("run ctr", &arguments.join(" "))),
        }
    }

    pub(super) fn docker(&self, arguments: &[&str]) -> Result<ProgramExit> {
        match arguments {
            ["image", "inspect", "--format", _, name] => {
                let id = self.lock().images.get(*name).map(|it| it.id.clone());
                Ok(match id {
                    Some(id) => exit(0, &json!({ "Id": id }).to_string()),
                    None => failed("No such image"),
                })
            }
            ["manifest", "inspect", name] => Ok(self.print(|world| manifest(world, &id(name)))),
            ["pull", "--quiet", name] => self.pull(name, true),
            ["build", "--tag", name, dir] => {
                let file = format!(r"{dir}\Dockerfile");
                let exists = file
                    .parse()
                    .is_ok_and(|path| self.lock().entries.contains_key(&path));
                if !exists {
                    return Ok(failed("Cannot locate Dockerfile"));
                }
                self.change(&format!("build {name}"), |world| {
                    world.images.insert((*name).to_owned(), complete(name));
                    Ok(())
                })?;
                Ok(exit(0, ""))
            }
            ["tag", name, tag] => self.tag_image(name, tag),
            ["run", "--rm", name, ..] => Ok(self.run_image(name)),
            ["image", "rm", name] => self.remove_image(name),
            _ => Err(refused("run docker", &arguments.join(" "))),
        }
    }

    fn print(&self, answer: impl FnOnce(&World) -> Option<String>) -> ProgramExit {
        exit(0, &answer(&self.lock()).unwrap_or_default())
    }

    /// An interrupted pull leaves the name without the content.
    fn pull(&self, name: &str, with_content: bool) -> Result<ProgramExit> {
        if !self.lock().registry.contains_key(name) {
            return Ok(failed("manifest unknown"));
        }
        self.change(&format!("fetch {name}"), |world| {
            let image = SimImage {
                complete: world.images.get(name).is_some_and(|it| it.complete),
                ..complete(name)
            };
            world.images.insert(name.to_owned(), image);
            Ok(())
        })?;
        if with_content {
            self.change(&format!("pull {name}"), |world| {
                world.images.insert(name.to_owned(), complete(name));
                Ok(())
            })?;
        }
        Ok(exit(0, ""))
    }

    fn tag_image(&self, name: &str, tag: &str) -> Result<ProgramExit> {
        let Some(image) = self.lock().images.get(name).cloned() else {
            return Ok(failed("no such image"));
        };
        self.change(&format!("tag {tag}"), |world| {
            world.images.insert(tag.to_owned(), image);
            Ok(())
        })?;
        Ok(exit(0, ""))
    }

    fn remove_image(&self, name: &str) -> Result<ProgramExit> {
        self.change(&format!("drop image {name}"), |world| {
            world.images.remove(name);
            Ok(())
        })?;
        Ok(exit(0, ""))
    }

    /// The kernel decides; the only output is an exit code.
    fn run_image(&self, name: &str) -> ProgramExit {
        let world = self.lock();
        let compatible = world.registry.get(name).is_none_or(|it| it.runs);
        if compatible && world.images.contains_key(name) {
            exit(0, "")
        } else {
            failed("The container operating system does not match the host operating system")
        }
    }
}

fn name_of(filter: &str) -> &str {
    filter.strip_prefix("name==").unwrap_or(filter)
}

fn id(name: &str) -> String {
    format!("sha256:{name}")
}

fn complete(name: &str) -> SimImage {
    SimImage {
        id: id(name),
        complete: true,
    }
}

fn manifest(world: &World, id: &str) -> Option<String> {
    let image = world.registry.get(id.strip_prefix("sha256:")?)?;
    let platform = |version: &String| json!({"platform": {"os.version": version}});
    let manifests: Vec<_> = image.versions.iter().map(platform).collect();
    Some(json!({ "manifests": manifests }).to_string())
}

fn exit(code: i32, output: &str) -> ProgramExit {
    ProgramExit {
        code: Some(code),
        output: output.to_owned(),
    }
}

fn failed(why: &str) -> ProgramExit {
    exit(1, why)
}
