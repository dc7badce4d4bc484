# Reads paths of inventories from stdin; prints the output of `ansible-inventory
# --list` and `--list --export`, or an error, for each. One process for all of them,
# because starting Ansible takes most of a second.
import json
import sys

from ansible import context
from ansible.cli.inventory import InventoryCLI
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.utils.context_objects import CLIArgs
from ansible.utils.display import Display
from ansible.vars.manager import VariableManager

messages = []


def record(*arguments, **named):
    messages.append(str(arguments) + str(named.get("exception", "")))


for method in ("warning", "error_as_warning", "deprecated", "display"):
    setattr(Display, method, lambda self, *arguments, **named: record(*arguments, **named))

cli = InventoryCLI(["ansible-inventory", "--list", "-i", "none"])
cli.parse()
options = dict(context.CLIARGS)


def plain(value):
    """Removes the marker of unsafe strings."""
    if isinstance(value, dict):
        if list(value) == ["__ansible_unsafe"]:
            return value["__ansible_unsafe"]
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def listings(path):
    messages.clear()
    cli.loader = DataLoader()
    cli.inventory = InventoryManager(loader=cli.loader, sources=[path])
    if not cli.inventory._inventory.processed_sources:
        return {"error": "\n".join(messages)}
    cli.vm = VariableManager(loader=cli.loader, inventory=cli.inventory)
    result = {}
    for kind in ("list", "export"):
        context.CLIARGS = CLIArgs({**options, "export": kind == "export"})
        listing = json.loads(cli.dump(cli.json_inventory(cli._get_group("all"))))
        listing["_meta"].pop("profile", None)
        result[kind] = plain(listing)
    return result


for line in sys.stdin:
    try:
        result = listings(line.rstrip("\n"))
    except Exception as error:
        result = {"error": repr(error)}
    print("casement1 " + json.dumps(result), flush=True)
