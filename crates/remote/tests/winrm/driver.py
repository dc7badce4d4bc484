import os
import sys

from winrm.exceptions import InvalidCredentialsError, WinRMOperationTimeoutError
from winrm.protocol import Protocol

endpoint, transport, ca = sys.argv[1:]
protocol = Protocol(
    endpoint=endpoint,
    transport=transport,
    username=os.environ["CASEMENT_TEST_USER"],
    password=os.environ["CASEMENT_TEST_PASSWORD"],
    kerberos_hostname_override=os.environ["CASEMENT_TEST_HOST"],
    ca_trust_path=ca if endpoint.startswith("https") else None,
    message_encryption="auto",
)
try:
    shell = protocol.open_shell(codepage=65001)
except InvalidCredentialsError:
    print("refused")
    sys.exit(0)

command = protocol.run_command(shell, "echo", ["h\u00e4llo"])
out, error, code = protocol.get_command_output(shell, command)
print("echo", code, out.decode().strip())
protocol.cleanup_command(shell, command)

command = protocol.run_command(shell, "sort", console_mode_stdin=False)
try:
    protocol.get_command_output_raw(shell, command)
    quiet = "unexpected output"
except WinRMOperationTimeoutError:
    quiet = "timed out"
protocol.send_command_input(shell, command, b"two\r\n")
protocol.send_command_input(shell, command, b"one\r\n", end=True)
out, error, code = protocol.get_command_output(shell, command)
print("sort", code, " ".join(out.decode().split()))
protocol.cleanup_command(shell, command)

command = protocol.run_command(shell, "exit", ["7"])
out, error, code = protocol.get_command_output(shell, command)
print("exit", code)
protocol.cleanup_command(shell, command)
protocol.close_shell(shell)
print(quiet)
