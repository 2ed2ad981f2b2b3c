/** `sealgate keygen`, `pin` and `proxy` as a person or a script runs them. */
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { keygenCommand, pinCommand } from "../../src/cli/attestationKeyCommands.ts"
import { proxyCommand } from "../../src/cli/proxyCommand.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { run } from "../support/cli.ts"
import * as Processes from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"

const KID = /^[A-Za-z0-9_-]{43}$/

/** Runs `sealgate proxy` with exactly this environment, up to its failure. */
const failingProxy = (env: Readonly<Record<string, string>>) =>
  Effect.provideService(
    run(proxyCommand, []),
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromEnvRecord({ PORT: "0", HOST: "127.0.0.1", ...env }),
  )

describe("sealgate", () => {
  it.live("creates keys, prints their pins and never overwrites a key", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "deep", "next.pem")
      const made = yield* run(keygenCommand, [file])
      assert.strictEqual(made.code, 0, made.stderr)
      const kid = /Clients pin it as: (\S+)/.exec(made.stdout)?.[1] ?? ""
      assert.match(kid, KID)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const pem = readFileSync(file, "utf8")
      assert.match(pem, /^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=]{64}\n-----END PRIVATE KEY-----\n$/)
      assert.notInclude(made.stdout + made.stderr, pem.split("\n")[1] ?? "")

      const again = yield* run(keygenCommand, [file])
      assert.strictEqual(again.code, 1)
      assert.include(again.stderr, "exists already")
      assert.strictEqual(readFileSync(file, "utf8"), pem)

      assert.deepInclude(yield* run(pinCommand, [file]), { code: 0, stdout: kid })
      const json = yield* run(pinCommand, [file, "--json"])
      assert.deepStrictEqual(JSON.parse(json.stdout), { file, kid })
      const other = yield* run(keygenCommand, [`${file}.2`, "--json"])
      assert.notStrictEqual(Reflect.get(JSON.parse(other.stdout), "kid"), kid)
    }),
  )

  it.live("reports a bad key file and the remedy without its content", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const content = "-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5IGJ1dCBzZWNyZXQ=\n-----END PRIVATE KEY-----\n"
      const bad = join(folder, "bad.pem")
      const open = join(folder, "open.pem")
      writeFileSync(bad, content, { mode: 0o600 })
      writeFileSync(open, content, { mode: 0o600 })
      chmodSync(open, 0o644)
      for (const [result, problem] of [
        [yield* run(pinCommand, [bad]), "no unencrypted Ed25519 private key"],
        [yield* run(pinCommand, [join(folder, "missing.pem")]), "cannot be opened"],
        [yield* run(pinCommand, [folder]), "is not a key file"],
        [yield* run(pinCommand, [open]), "chmod 600"],
        [yield* failingProxy({ ATTESTATION_KEY_FILE: open }), "readable or writable by others"],
        [yield* failingProxy({ ATTESTATION_KEY_FILE: bad }), "no unencrypted Ed25519 private key"],
      ] as const) {
        assert.strictEqual(result.code, 1, problem)
        assert.include(result.stderr, problem)
        assert.notInclude(result.stderr + result.stdout, "bm90IGEga2V5")
      }
      const mistyped = yield* failingProxy({ ATTESTATION_KEY_FILE: join(folder, "missing.pem") })
      assert.strictEqual(mistyped.code, 1)
      assert.include(mistyped.stderr, "missing.pem: there is no such file")
    }),
  )

  it.live("lists every variable in its help", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(proxyCommand, ["--help"])
      assert.strictEqual(code, 0)
      for (const { variable } of Object.values(proxySettings)) assert.include(stdout, variable)
    }),
  )

  it.live("keeps the identity of a proxy over restarts", () =>
    Effect.gen(function* () {
      const first = yield* Processes.runProxy()
      assert.include(first.stdout.join("\n"), "new: the key was just created")
      first.kill("SIGTERM")
      assert.strictEqual(yield* Effect.promise(() => first.exit), 0)
      const second = yield* Processes.runProxy({ folder: first.folder })
      assert.strictEqual(second.kid, first.kid)
      assert.notInclude(second.stdout.join("\n"), "the key was just created")
    }),
  )
})
