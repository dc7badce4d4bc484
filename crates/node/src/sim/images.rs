//! Images of a simulated host: what `ctr` and `docker` say and do.

use serde_json::json;

use super::world::{SimImage, World};
use super::{Sim, refused};
use crate::platform::{Ended, Result};

impl Sim {
    /// containerd's own program; it answers only while containerd runs.
    pub(super) fn ctr(&self, words: &[&str]) -> Result<Ended> {
        if let Some(answer) = self.ctr_containers(words) {
            return answer;
        }
        match words {
            ["images", "check", filter] => Ok(self.said(|world| {
                let (name, head) = (wanted(filter), "REF TYPE DIGEST STATUS SIZE UNPACKED\n");
                let image = world.images.get(name)?;
                let status = if image.whole {
                    "complete (3/3) 1.0 MiB/1.0 MiB true"
                } else {
                    "incomplete (1/3) 1.0 KiB/1.0 MiB false"
                };
                Some(format!(
                    "{head}{name} application/json {} {status}",
                    image.id
                ))
            })),
            ["images", "list", filter] => Ok(self.said(|world| {
                let (name, head) = (wanted(filter), "REF TYPE DIGEST SIZE PLATFORMS LABELS\n");
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
            ] => self.bring(name, false),
            ["content", "get", id] => Ok(self.said(|world| manifest(world, id))),
            ["images", "pull", "--hosts-dir", _, name] => self.bring(name, true),
            ["images", "tag", "--force", name, tag] => self.name_image(name, tag),
            ["run", "--rm", name, _, ..] => Ok(self.try_image(name)),
            ["images", "remove", "--sync", name] => self.drop_image(name),
            _ => Err(refused("run ctr", &words.join(" "))),
        }
    }

    /// Docker's own program.
    pub(super) fn docker(&self, words: &[&str]) -> Result<Ended> {
        match words {
            ["image", "inspect", "--format", _, name] => {
                let id = self.lock().images.get(*name).map(|it| it.id.clone());
                Ok(match id {
                    Some(id) => ended(0, &json!({ "Id": id }).to_string()),
                    None => failed("No such image"),
                })
            }
            ["manifest", "inspect", name] => Ok(self.said(|world| manifest(world, &id(name)))),
            ["pull", "--quiet", name] => self.bring(name, true),
            ["build", "--tag", name, folder] => {
                let file = format!(r"{folder}\Dockerfile");
                let there = file
                    .parse()
                    .is_ok_and(|path| self.lock().entries.contains_key(&path));
                if !there {
                    return Ok(failed("Cannot locate Dockerfile"));
                }
                self.change(&format!("build {name}"), |world| {
                    world.images.insert((*name).to_owned(), whole(name));
                    Ok(())
                })?;
                Ok(ended(0, ""))
            }
            ["tag", name, tag] => self.name_image(name, tag),
            ["run", "--rm", name, ..] => Ok(self.try_image(name)),
            ["image", "rm", name] => self.drop_image(name),
            _ => Err(refused("run docker", &words.join(" "))),
        }
    }

    fn said(&self, answer: impl FnOnce(&World) -> Option<String>) -> Ended {
        ended(0, &answer(&self.lock()).unwrap_or_default())
    }

    /// A pull that is cut off leaves the name and no image.
    fn bring(&self, name: &str, whole_image: bool) -> Result<Ended> {
        if !self.lock().registry.contains_key(name) {
            return Ok(failed("manifest unknown"));
        }
        self.change(&format!("fetch {name}"), |world| {
            let image = SimImage {
                whole: world.images.get(name).is_some_and(|it| it.whole),
                ..whole(name)
            };
            world.images.insert(name.to_owned(), image);
            Ok(())
        })?;
        if whole_image {
            self.change(&format!("pull {name}"), |world| {
                world.images.insert(name.to_owned(), whole(name));
                Ok(())
            })?;
        }
        Ok(ended(0, ""))
    }

    fn name_image(&self, name: &str, tag: &str) -> Result<Ended> {
        let Some(image) = self.lock().images.get(name).cloned() else {
            return Ok(failed("no such image"));
        };
        self.change(&format!("tag {tag}"), |world| {
            world.images.insert(tag.to_owned(), image);
            Ok(())
        })?;
        Ok(ended(0, ""))
    }

    fn drop_image(&self, name: &str) -> Result<Ended> {
        self.change(&format!("drop image {name}"), |world| {
            world.images.remove(name);
            Ok(())
        })?;
        Ok(ended(0, ""))
    }

    /// The kernel decides, and says so in a number only.
    fn try_image(&self, name: &str) -> Ended {
        let world = self.lock();
        let carried = world.registry.get(name).is_none_or(|it| it.runs);
        if carried && world.images.contains_key(name) {
            ended(0, "")
        } else {
            failed("The container operating system does not match the host operating system")
        }
    }
}

fn wanted(filter: &str) -> &str {
    filter.strip_prefix("name==").unwrap_or(filter)
}

fn id(name: &str) -> String {
    format!("sha256:{name}")
}

fn whole(name: &str) -> SimImage {
    SimImage {
        id: id(name),
        whole: true,
    }
}

fn manifest(world: &World, id: &str) -> Option<String> {
    let image = world.registry.get(id.strip_prefix("sha256:")?)?;
    let platform = |version: &String| json!({"platform": {"os.version": version}});
    let manifests: Vec<_> = image.versions.iter().map(platform).collect();
    Some(json!({ "manifests": manifests }).to_string())
}

fn ended(code: i32, output: &str) -> Ended {
    Ended {
        code: Some(code),
        output: output.to_owned(),
    }
}

fn failed(why: &str) -> Ended {
    ended(1, why)
}
