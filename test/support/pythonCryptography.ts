/** Python with the package `cryptography`, for programs that were written from the protocol alone. */
import { spawnSync } from "node:child_process"

export const PYTHON = ["python3", "/usr/bin/python3"].find(
  (command) => spawnSync(command, ["-c", "import cryptography"]).status === 0,
)

/** Whether there is a Python with the one package that the protocol needs. */
export const haveCryptography = PYTHON !== undefined
if (!haveCryptography) console.warn("! python3-cryptography is not installed: the tests that use it are skipped")
