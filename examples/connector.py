"""Python with nothing but its standard library, sealed: start `sealgate connect` first."""

import json
import os
import urllib.request

BASE = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8787/v1")


def ask(body):
    request = urllib.request.Request(
        f"{BASE}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    return urllib.request.urlopen(request, timeout=120)


messages = [{"role": "user", "content": "Hello from Python"}]

with ask({"messages": messages}) as response:
    print(json.load(response)["choices"][0]["message"]["content"])

with ask({"messages": messages, "stream": True}) as response:
    done = False
    for line in response:
        data = line.decode().removeprefix("data: ").strip()
        if data == "[DONE]":
            done = True
        elif data:
            chunk = json.loads(data)
            if "error" in chunk:
                raise RuntimeError(chunk["error"]["message"])
            for choice in chunk["choices"]:
                print(choice["delta"].get("content") or "", end="", flush=True)
    print()
    # The connector sends [DONE] only after verifying receipt and proof. Without it, discard the answer.
    if not done:
        raise RuntimeError("the stream ended before its end was verified")
