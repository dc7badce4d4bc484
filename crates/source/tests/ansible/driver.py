# Reads paths of inventories, one a line; prints for each what
# `ansible-inventory --list` and `--list --export` say, or that Ansible could not
# read it. One process for all of them: starting Ansible takes most of a second.
import json
import sys

from ansible import context
from ansible.cli.inventory import InventoryCLI
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.utils.context_objects import CLIArgs
from ansible.utils.display import Display
from ansible.vars.manager import VariableManager

said = []


def keep(*arguments, **named):
    said.append(str(arguments) + str(named.get("exception", "")))


for silent in ("warning", "error_as_warning", "deprecated", "display"):
    setattr(Display, silent, lambda self, *arguments, **named: keep(*arguments, **named))

cli = InventoryCLI(["ansible-inventory", "--list", "-i", "none"])
cli.parse()
options = dict(context.CLIARGS)


def plain(value):
    """Without the listing's mark on texts that are no templates."""
    if isinstance(value, dict):
        if list(value) == ["__ansible_unsafe"]:
            return value["__ansible_unsafe"]
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def answer(path):
    said.clear()
    cli.loader = DataLoader()
    cli.inventory = InventoryManager(loader=cli.loader, sources=[path])
    if not cli.inventory._inventory.processed_sources:
        return {"error": "\n".join(said)}
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
        result = answer(line.rstrip("\n"))
    except Exception as error:
        result = {"error": repr(error)}
    print("casement1 " + json.dumps(result), flush=True)
