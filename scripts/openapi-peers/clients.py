"""Generates clients from the API's document and does with each what everybody does: make a workspace, write a file,
run a command, read the file, list the folder, meet a refusal, remove the workspace. Prints what it saw as JSON.

    clients.py openapi-python-client|openapi-generator DOCUMENT URL TOKEN FOLDER
"""

import importlib
import json
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

TEXT = b"\xff\x00 bytes, and not text\n"


def until_online(status):
    for _ in range(400):
        if str(status()) == "online":
            return
        time.sleep(0.05)
    raise SystemExit("the workspace does not come online")


def generate(command, folder):
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode != 0 or "Unable to process schema" in ended.stdout:
        raise SystemExit(ended.stdout)
    sys.path.insert(0, str(folder))


def openapi_python_client(bin_folder, document, url, token, folder):
    package = "warren_python_client"
    command = [bin_folder / "openapi-python-client", "generate", "--path", document]
    config = folder / "config.yml"
    # Without the formatter that it would look for on the PATH.
    config.write_text("post_hooks: []\n")
    generate(command + ["--output-path", folder / package, "--meta", "none", "--config", config], folder)
    use = lambda name: importlib.import_module(f"{package}.{name}")
    client = use("client").AuthenticatedClient(base_url=url, token=token)
    models, types = use("models"), use("types")
    call = lambda module, **arguments: use(f"api.{module}").sync_detailed(client=client, **arguments)

    provider = models.LocalConfig(kind=models.LocalConfigKind.LOCAL)
    body = models.CreateWorkspace(name="by-openapi-python-client", provider=provider)
    made = call("workspaces.create_workspace", body=body)
    assert made.status_code == 201, made
    id = made.parsed.id
    until_online(lambda: call("workspaces.show_workspace", id=id).parsed.status)
    written = call("files.write_file", id=id, path="a/b.bin", body=types.File(payload=BytesIO(TEXT)))
    ran = call("commands.run_command", id=id, body=models.ExecRequest(argv=["wc", "-c", "a/b.bin"]))
    read = call("files.read_file", id=id, path="a/b.bin")
    listed = call("files.list_directory", id=id, path="a")
    missing = call("files.read_file", id=id, path="none")
    removed = call("workspaces.remove_workspace", id=id)
    return {
        "provider": made.parsed.provider.kind.value,
        "written": written.parsed.bytes_,
        "stdout": ran.parsed.stdout,
        "read": read.parsed.payload.read() == TEXT,
        "listed": [entry.path for entry in listed.parsed.entries],
        "missing": missing.parsed.code,
        "removed": removed.status_code < 300,
    }


def openapi_generator(bin_folder, document, url, token, folder):
    package = "warren_generated"
    command = [bin_folder / "openapi-generator-cli", "generate", "-g", "python", "-i", document]
    generate(command + ["-o", folder, "--package-name", package], folder)
    warren = importlib.import_module(package)
    client = warren.ApiClient(warren.Configuration(host=url, access_token=token))
    workspaces, files = warren.WorkspacesApi(client), warren.FilesApi(client)

    # The fields that it does not know are sent as null.
    provider = warren.ProviderConfig(warren.LocalConfig(kind="local", max_file_mb=None))
    body = warren.CreateWorkspace(name="by-openapi-generator", provider=provider)
    made = workspaces.create_workspace(body)
    id = made.id
    until_online(lambda: workspaces.show_workspace(id).status.value)
    written = files.write_file(id, "a/b.bin", TEXT)
    ran = warren.CommandsApi(client).run_command(id, warren.ExecRequest(argv=["wc", "-c", "a/b.bin"]))
    read = files.read_file(id, path="a/b.bin")
    listed = files.list_directory(id, path="a")
    try:
        missing = files.read_file(id, path="none")
    except warren.exceptions.NotFoundException as refused:
        missing = json.loads(refused.body)["code"]
    workspaces.remove_workspace(id)
    return {
        "provider": made.provider.actual_instance.kind,
        "written": written.bytes,
        "stdout": ran.stdout,
        "read": bytes(read) == TEXT,
        "listed": [entry.path for entry in listed.entries],
        "missing": missing,
        "removed": True,
    }


if __name__ == "__main__":
    generator, document, url, token, folder = sys.argv[1:]
    run = {"openapi-python-client": openapi_python_client, "openapi-generator": openapi_generator}[generator]
    seen = run(Path(sys.executable).parent, Path(document).resolve(), url, token, Path(folder).resolve())
    print(json.dumps(seen))
