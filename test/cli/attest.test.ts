/** `sealgate attest`, and the commands that take a policy. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { attestCommand } from "../../src/cli/attestCommand.ts"
import { Judging } from "../../src/cli/attest/Judging.ts"
import { chatCommand } from "../../src/cli/chatCommand.ts"
import { connectCommand } from "../../src/cli/connectCommand.ts"
import { doctorCommand } from "../../src/cli/doctorCommand.ts"
import { keygenCommand } from "../../src/cli/attestationKeyCommands.ts"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { digestOfSoftware } from "../../src/layers/evidence/softwareDigest.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { TCB } from "../attestation/support/snp.ts"
import { IMAGE } from "../attestation/support/space.ts"
import { NOW } from "../attestation/support/world.ts"
import { answering } from "../support/answering.ts"
import { run } from "../support/cli.ts"
import { startConnector } from "../support/connector.ts"
import { CHIP, MEASUREMENT, snpMachine, spaceMachine } from "../support/evidence/machines.ts"
import { provenSetup } from "../support/evidence/provenSetup.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"

const DAY_MS = 86_400_000
const OTHER_KID = "A".repeat(43)

/** A proven proxy, and a policy for it that `attest policy` made. */
const policySetup = Effect.gen(function* () {
  const setup = yield* provenSetup()
  const folder = yield* temporaryFolder
  const key = join(folder, "key.pem")
  const made: unknown = JSON.parse((yield* run(keygenCommand, [key, "--json"])).stdout)
  assert(typeof made === "object" && made !== null && "kid" in made)
  const signer = String(made.kid)
  const judged = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Judging, setup.judging)
  const attest = (...args: ReadonlyArray<string>) => judged(run(attestCommand, args))
  const policy = yield* attest("policy", setup.proxy.url, "--key", key)
  assert.strictEqual(policy.code, 0, policy.stderr)
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const trust = ["--policy", write("policy.json", policy.stdout), "--policy-signer", signer]
  return { ...setup, judge: setup.policy, attest, folder, judged, key, policy, signer, trust, write }
})

const changed = (text: string): string =>
  text.replace(/"policy": "(.{40})(.)/, (_, a, b) => `"policy": "${a}${b === "A" ? "B" : "A"}`)

describe("sealgate attest", () => {
  it.live("shows code, configuration and hardware, and says that it did not judge them", () =>
    Effect.gen(function* () {
      const { attest, proxy } = yield* policySetup
      const { code, stdout } = yield* attest("show", proxy.url)
      assert.strictEqual(code, 0)
      for (const part of [proxy.kid, MEASUREMENT, CHIP, "AMD Genoa", '"base_url"', "not that it should"]) {
        assert.include(stdout, part)
      }
      assert.match(stdout, /firmware +bootloader 7, TEE 1, SNP 20, microcode 209$/m)
      assert.match(stdout, /committed +bootloader 7, TEE 1, SNP 20, microcode 209; /)
      assert.include(stdout, "AMD's security bulletins")
      assert.notInclude(stdout, "genuine and current")
      const json: unknown = JSON.parse((yield* attest("show", proxy.url, "--json")).stdout)
      const tcb = { ...TCB, fmc: 0 }
      assert.deepNestedInclude(json, { "proven.tcb": { reported: tcb, committed: tcb } })
    }),
  )

  it.live("exits with 1 without evidence mode, and if the chain does not end in a pinned root", () =>
    Effect.gen(function* () {
      const { machine, proxy } = yield* policySetup
      const plain = yield* startProxy()
      const none = yield* run(attestCommand, ["show", plain.url])
      assert.deepStrictEqual([none.code, none.stdout], [1, ""])
      assert.include(none.stderr, "no evidence")
      assert.notInclude(none.stderr, "Is this a sealed proxy?")
      const unpinned = yield* Effect.provideService(run(attestCommand, ["show", proxy.url]), Judging, {
        collateral: machine.source,
      })
      assert.strictEqual(unpinned.code, 1)
      assert.include(unpinned.stderr, "chain-root")
    }),
  )

  it.live("exits with 1 if a report is not text, or holds odd values", () =>
    Effect.gen(function* () {
      const claims = (aud: unknown) => `e30.${encodeBase64Url(utf8(JSON.stringify({ aud })))}.`
      for (const report of [new Uint8Array([0xff, 0x2e, 0xff]), utf8(claims({ toString: 1 }))]) {
        const url = yield* answering((response) =>
          response.writeHead(200, { "content-type": "application/json" }).end(
            JSON.stringify({
              format: "confidential-space",
              kid: encodeBase64Url(new Uint8Array(32)),
              configuration: encodeBase64Url(new Uint8Array([0xff])),
              report: encodeBase64Url(report),
              path: { index: 0, size: 1, hashes: [] },
            }),
          ),
        )
        const { code, stderr } = yield* run(attestCommand, ["show", url])
        assert.strictEqual(code, 1)
        assert.include(stderr, "The proof of the code behind the proxy's key fails")
      }
    }),
  )

  it.live("makes a policy that says it is trust on first use, and chat seals under it", () =>
    Effect.gen(function* () {
      const { judged, policy, proxy, signer, trust } = yield* policySetup
      assert.include(policy.stderr, "Trust on first use")
      assert.include(policy.stderr, signer)
      assert.match(policy.stderr, /minimum is the firmware shown, bootloader 7, TEE 1, SNP 20, microcode 209: compare/)
      const answer = yield* judged(run(chatCommand, ["--proxy", proxy.url, ...trust, "Hello"]))
      assert.deepStrictEqual([answer.code, answer.stdout], [0, "ok"], answer.stderr)
    }),
  )

  it.live("seals nothing in chat under a policy for another proxy, or of another signer", () =>
    Effect.gen(function* () {
      const { fake, judged, policy, proxy, signer, trust, write } = yield* policySetup
      const other = yield* startProxy()
      const refused = yield* judged(run(chatCommand, ["--proxy", other.url, ...trust, "Hello"]))
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "no-evidence")
      const file = trust[1] ?? ""
      for (const [args, says] of [
        [["--policy", file, "--policy-signer", OTHER_KID], "policy-signature"],
        [["--policy", write("changed.json", changed(policy.stdout)), "--policy-signer", signer], "policy-"],
        [["--policy", write("empty.json", "{}"), "--policy-signer", signer], "policy-malformed"],
        [["--policy", "/nowhere", "--policy-signer", signer], "cannot be read"],
        [["--policy", file], "go together"],
      ] as const) {
        const wrong = yield* judged(run(chatCommand, ["--proxy", proxy.url, ...args, "Hello"]))
        assert.strictEqual(wrong.code, 2, args.join(" "))
        assert.include(wrong.stderr, says)
      }
      assert.strictEqual(fake.requests.length, 0)
    }),
  )

  it.live("ends connect with 1 if the proxy runs code that the policy does not accept", () =>
    Effect.gen(function* () {
      const { fake, trust } = yield* policySetup
      const other = yield* provenSetup({}, snpMachine("cd".repeat(48)), fake)
      const args = ["--proxy", other.proxy.url, "--port", "0", ...trust]
      const { code, stderr, stdout } = yield* Effect.provideService(run(connectCommand, args), Judging, other.judging)
      assert.strictEqual(code, 1)
      assert.include(stdout + stderr, "measurement-unknown")
    }),
  )

  it.live("verifies evidence that a connector kept beside its receipts, once for many answers", () =>
    Effect.gen(function* () {
      const { attest, fake, folder, judged, judge, machine, proxy, trust, write } = yield* policySetup
      const receipts = join(folder, "receipts")
      const sealed = { baseUrl: proxy.url, policy: judge(), pace: 0 }
      const connector = yield* startConnector({ sealed, receipts: { folder: receipts, evidence: false } })
      for (let i = 0; i < 2; i++) {
        const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] })
        const headers = { "content-type": "application/json" }
        const url = `${connector.url}/v1/chat/completions`
        assert.strictEqual((yield* Effect.promise(() => fetch(url, { method: "POST", headers, body }))).status, 200)
      }
      const names = readdirSync(receipts)
      const [kept = "", more] = names.filter((name) => name.startsWith("code-")).map((name) => join(receipts, name))
      assert.isUndefined(more)
      const [receipt = ""] = names.filter((name) => !name.startsWith("code-")).map((name) => join(receipts, name))
      assert.include(kept, String(JSON.parse(readFileSync(receipt, "utf8")).code))

      const judgedFile = yield* attest("verify", kept, ...trust)
      assert.strictEqual(judgedFile.code, 0, judgedFile.stderr)
      assert.match(
        judgedFile.stdout,
        new RegExp(`Key ${proxy.kid} was in code ${MEASUREMENT} .* AMD Genoa .* no later than `),
      )
      const both = yield* judged(run(verifyCommand, [receipt, "--pin", proxy.kid, "--evidence", kept]))
      assert.strictEqual(both.code, 0, both.stderr)
      assert.include(both.stdout, `Key ${proxy.kid} was in code ${MEASUREMENT}`)

      const content = readFileSync(kept, "utf8")
      for (const [what, text, code] of [
        ["a changed report", content.replace(/"report": "(.{400})./, '"report": "$1_'), 1],
        ["another nonce", content.replace(/"nonce": "[^"]+"/, `"nonce": "${OTHER_KID}"`), 1],
        ["no collateral", content.replace('"collateral"', '"other"'), 2],
        ["no JSON", "{", 2],
      ] as const) {
        const wrong = yield* attest("verify", write("wrong.json", text), ...trust)
        assert.strictEqual(wrong.code, code, what)
      }
      const other = yield* provenSetup({}, machine, fake)
      const shown = yield* attest("show", other.proxy.url, "--json")
      const foreign = write("foreign.json", shown.stdout)
      const mixed = yield* judged(run(verifyCommand, [receipt, "--pin", proxy.kid, "--evidence", foreign]))
      assert.strictEqual(mixed.code, 1)
      assert.include(mixed.stderr, "but the statement was signed by")
    }),
  )

  it.live("verify --evidence names the code without a policy, if --accept names each exception", () =>
    Effect.gen(function* () {
      vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 })
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.useRealTimers()))
      const { judging, policy, proxy } = yield* provenSetup({}, spaceMachine({ LOG_LEVEL: "debug" }))
      const receipts = yield* temporaryFolder
      const sealed = { baseUrl: proxy.url, policy: policy(), pace: 0 }
      const connector = yield* startConnector({ sealed, receipts: { folder: receipts, evidence: false } })
      const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] })
      const headers = { "content-type": "application/json" }
      const asked = fetch(`${connector.url}/v1/chat/completions`, { method: "POST", headers, body })
      assert.strictEqual((yield* Effect.promise(() => asked)).status, 200)
      const [code = "", receipt = ""] = readdirSync(receipts).sort((name) => (name.startsWith("code-") ? -1 : 1))
      const args = [join(receipts, receipt), "--pin", proxy.kid, "--evidence", join(receipts, code)]
      const verify = (...more: ReadonlyArray<string>) =>
        Effect.provideService(run(verifyCommand, [...args, ...more]), Judging, judging)
      const refused = yield* verify()
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "pass --accept LOG_LEVEL")
      const said = yield* verify("--accept", "LOG_LEVEL")
      assert.strictEqual(said.code, 0, said.stderr)
      assert.include(said.stdout, `Key ${proxy.kid} was in code ${IMAGE}`)
    }),
  )

  it.effect("prints the expected evidence of this release, with the image in the compose file", () =>
    Effect.gen(function* () {
      const digest = `sha256:${"ab".repeat(32)}`
      const image = `registry.example.com:5000/team/sealgate@${digest}`
      const { code, stdout } = yield* run(attestCommand, ["expect", "--image", image])
      assert.strictEqual(code, 0)
      const expected: Record<string, unknown> = JSON.parse(stdout)
      assert.strictEqual(expected["software_digest"], digestOfSoftware())
      assert.strictEqual(expected["image_digest"], digest)
      const { docker_compose_file: compose }: { docker_compose_file: string } = JSON.parse(
        String(expected["app_compose"]),
      )
      assert.match(compose, new RegExp(`^ +image: ${image}$`, "m"))
      const { createHash } = yield* Effect.promise(() => import("node:crypto"))
      const hash = createHash("sha256").update(String(expected["app_compose"])).digest("hex")
      assert.strictEqual(expected["compose_hash"], hash)
      for (const vague of ["sealgate:latest", digest, `sealgate@${digest}`]) {
        assert.strictEqual((yield* run(attestCommand, ["expect", "--image", vague])).code, 2, vague)
      }
    }),
  )
})

describe("sealgate doctor with a policy", () => {
  const examine = (url: string, pin: string, trust: ReadonlyArray<string>) =>
    Effect.map(run(doctorCommand, ["--proxy", url, "--pin", pin, ...trust, "--json"]), ({ stdout }) => {
      const { findings }: { findings: ReadonlyArray<{ check: string; level: string; says: string }> } =
        JSON.parse(stdout)
      return findings.filter(({ check }) => check === "evidence")
    })

  it.live("warns of a policy that expires soon, and reports evidence that it refuses", () =>
    Effect.gen(function* () {
      const { attest, judged, key, proxy, signer, trust, write } = yield* policySetup
      const levels = (found: ReadonlyArray<{ level: string }>) => found.map(({ level }) => level)
      assert.deepStrictEqual(levels(yield* judged(examine(proxy.url, proxy.kid, trust))), ["ok"])
      const short = yield* attest("policy", proxy.url, "--key", key, "--days", "3")
      const soon = ["--policy", write("short.json", short.stdout), "--policy-signer", signer]
      const found = yield* judged(examine(proxy.url, proxy.kid, soon))
      assert.deepStrictEqual(levels(found), ["ok", "warning"])
      assert.include(found[1]?.says, new Date(Date.now() + 3 * DAY_MS).toISOString().slice(0, 10))
      const other = yield* startProxy()
      assert.deepStrictEqual(levels(yield* judged(examine(other.url, other.kid, trust))), ["error"])
    }),
  )
})
