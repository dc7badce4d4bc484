"""Converts the work of the benchmark kit to a node document, and its hosts to a hosts file of casement.

The state directory of each host is in its own HOME: the hosts of the kit share one machine, and the kit wipes HOME
before a first run, so that a first run also installs the agent.
"""
import hashlib
import json
import os
import sys
import tarfile

out = sys.argv[1]
with open(os.environ["BENCH_WORK"]) as file:
    work = json.load(file)["work"]
with open(os.environ["BENCH_HOSTS"]) as file:
    kit = json.load(file)
archive = os.environ["BENCH_ARCHIVE"]
with open(archive, "rb") as file:
    sha256 = hashlib.sha256(file.read()).hexdigest()

steps = []


def step(id, after, **resource):
    steps.append({"id": id, "after": after, "resource": resource})


def mode(text):
    return {"mode": text}


def host_path(path):
    return "{{ base }}/" + path


for each in work["directories"]:
    step("dir-" + each["path"].replace("/", "-"), [], kind="directory", path=host_path(each["path"]), access=mode(each["mode"]))
for each in work["files"]:
    with open(os.path.join(os.environ["BENCH_KIT"], "templates", each["template"])) as file:
        text = file.read()
    parent = "dir-" + os.path.dirname(each["path"]).replace("/", "-")
    step("file-" + each["path"].replace("/", "-"), [parent], kind="file", path=host_path(each["path"]),
         content={"text": text}, access=mode(each["mode"]))
blob = {"sha256": sha256, "size": os.path.getsize(archive)}
archive_work = work["archive"]
step("archive", ["dir-opt"], kind="artifact", format="plain", destination=host_path(archive_work["path"]), access=mode(archive_work["mode"]), **blob)
with tarfile.open(archive) as tar:
    members = [{"from": member.name, "to": member.name, "access": mode(f"{member.mode:04o}")} for member in tar if member.isfile()]
step("payload", ["dir-opt"], kind="artifact", format="tarGz", destination=host_path(archive_work["unpack_to"]), members=members, **blob)
for each in work["links"]:
    step("link-" + each["path"].replace("/", "-"), ["payload"], kind="symlink", path=host_path(each["path"]), target=each["target"])


def command(line):
    program, *arguments = line.split()
    return {"program": host_path(program), "arguments": arguments}


for each in work["services"]:
    step("check-" + each["name"], ["file-bin-svcctl", "dir-run"], kind="check", name=each["name"], ask=command(each["check"]),
         wanted={"is": each["want"]}, act=command(each["fix"]), folder="{{ base }}", timeoutSeconds=30)
step("line-hosts", [], kind="line", path=host_path(work["line"]["path"]), rest=work["line"]["line"])

hosts = []
for host in kit["hosts"]:
    home = os.path.join(os.path.dirname(host["base"]), "home")
    hosts.append({"name": host["name"], "address": host["address"], "port": host["port"], "user": host["user"],
                  "stateDir": home + "/.casement", "values": {**host["vars"], "base": host["base"]}})
for name, value in [("document.json", {"host": "each", "stage": "prepare", "repair": "report", "steps": steps}),
                    ("hosts.json", {"key": kit["key"], "knownHosts": kit["known_hosts"], "hosts": hosts})]:
    with open(os.path.join(out, name), "w") as file:
        json.dump(value, file, indent=1)
