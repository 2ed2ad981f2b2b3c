import { execFileSync } from "node:child_process"
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { Attestation } from "../../../src/services/sealing/Attestation.ts"
import {
  createKeyFile,
  KeyFileError,
  loadKeyFile,
  readKeyFile,
} from "../../../src/services/sealing/AttestationKeyFile.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import { temporaryFolder } from "../../support/proxy.ts"

/** The identity that a proxy started with this file has. */
const identity = (keyFile: string) =>
  Effect.map(Attestation, ({ created, kid }) => ({ created, kid })).pipe(
    Effect.provide(Attestation.layer({ keyFile }).pipe(Layer.provide(KeyVault.layerPlain))),
  )

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** A new private key, as openssl would write it. */
const ed25519 = () => pemOf(generateKeyPairSync("ed25519"))
const pemOf = ({ privateKey }: { readonly privateKey: KeyObject }, encryption: object = {}) =>
  privateKey.export({ type: "pkcs8", format: "pem", ...encryption })

const openssl = (...args: ReadonlyArray<string>) =>
  execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] })

const write = (path: string, content: string | Uint8Array, mode = 0o600) => {
  writeFileSync(path, content, { mode })
  chmodSync(path, mode)
}

/** Unusable files, each with what its error must say. */
const UNUSABLE: ReadonlyArray<readonly [name: string, make: (path: string) => void, problem: RegExp, remedy: RegExp]> =
  [
    [
      "readable by the group",
      (path) => write(path, ed25519(), 0o640),
      /readable or writable by others \(mode 0640\)/,
      /chmod 600/,
    ],
    ...(process.geteuid?.() === 0
      ? ([
          [
            "another user's",
            (path: string) => {
              write(path, ed25519())
              chownSync(path, 1, 0)
            },
            /another user \(uid 1\)/,
            /chown 0 .*new pins/,
          ],
        ] as const)
      : []),
    ["X25519", (path) => write(path, pemOf(generateKeyPairSync("x25519"))), /no unencrypted Ed25519/, /keygen/],
    [
      "P-256",
      (path) => write(path, pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" }))),
      /no unencrypted Ed25519/,
      /openssl genpkey/,
    ],
    [
      "RSA",
      (path) => write(path, pemOf(generateKeyPairSync("rsa", { modulusLength: 2048 }))),
      /no unencrypted Ed25519/,
      /keygen/,
    ],
    [
      "encrypted",
      (path) => write(path, pemOf(generateKeyPairSync("ed25519"), { cipher: "aes-256-cbc", passphrase: "secret" })),
      /no unencrypted Ed25519/,
      /keygen/,
    ],
    ["garbage", (path) => write(path, Buffer.alloc(200, 0xa5)), /no unencrypted Ed25519/, /keygen/],
    ["empty", (path) => write(path, ""), /no unencrypted Ed25519/, /keygen/],
    [
      "PEM with garbage inside",
      (path) => write(path, "-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----\n"),
      /no unencrypted Ed25519/,
      /keygen/,
    ],
    [
      "PEM the wrong way round",
      (path) => write(path, "-----END PRIVATE KEY-----\nAAAA\n-----BEGIN PRIVATE KEY-----\n"),
      /no unencrypted Ed25519/,
      /keygen/,
    ],
    [
      "a key that lacks its last byte",
      (path) => {
        const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(31, 7)])
        write(path, `-----BEGIN PRIVATE KEY-----\n${der.toString("base64")}\n-----END PRIVATE KEY-----\n`)
      },
      /no unencrypted Ed25519/,
      /keygen/,
    ],
    ["too large", (path) => write(path, `${String(ed25519())}${" ".repeat(5000)}`), /not a key file/, /keygen/],
    ["a directory", (path) => mkdirSync(path), /not a key file/, /keygen/],
    [
      "below something that is no directory",
      (path) => write(join(path, "..", "file"), ""),
      /cannot be (opened|written)/,
      /ATTESTATION_KEY_FILE/,
    ],
  ]

describe("the attestation key file", () => {
  it.effect("is created for its owner only, and gives the same identity at every start", () =>
    Effect.gen(function* () {
      const home = join(yield* temporaryFolder, "new", ".sealgate")
      const path = join(home, "attestation.pem")
      const first = yield* identity(path)
      assert.isTrue(first.created)
      assert.strictEqual(modeOf(home), "700")
      assert.strictEqual(modeOf(path), "600")
      assert.deepStrictEqual(yield* identity(path), { created: false, kid: first.kid })
      assert.deepStrictEqual(yield* identity(path), { created: false, kid: first.kid })
    }),
  )

  it.effect("is a key that openssl can read, and that nobody else has", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const paths = [join(home, "a.pem"), join(home, "b.pem")]
      for (const path of paths) yield* createKeyFile(path)
      const [a, b] = paths.map((path) => openssl("pkey", "-in", path, "-text", "-noout").toString())
      assert.include(a, "ED25519 Private-Key")
      assert.notStrictEqual(a, b)
    }),
  )

  it.effect("may come from openssl, and its key id is the RFC 7638 thumbprint", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "key.pem")
      write(path, openssl("genpkey", "-algorithm", "ed25519"))
      const publicKey = openssl("pkey", "-in", path, "-pubout", "-outform", "DER").subarray(-32)
      const jwk = `{"crv":"Ed25519","kty":"OKP","x":"${publicKey.toString("base64url")}"}`
      const thumbprint = execFileSync("openssl", ["dgst", "-sha256", "-binary"], { input: jwk }).toString("base64url")
      assert.deepStrictEqual(yield* identity(path), { created: false, kid: thumbprint })
    }),
  )

  it.effect("may have Windows line ends, text around the key, and be linked to", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const pem = String(ed25519())
      write(join(home, "plain.pem"), pem)
      write(join(home, "odd.pem"), `The key of the proxy\r\n${pem.replaceAll("\n", "\r\n")}\r\nEnd`)
      symlinkSync(join(home, "plain.pem"), join(home, "link.pem"))
      const { kid } = yield* identity(join(home, "plain.pem"))
      assert.strictEqual((yield* identity(join(home, "odd.pem"))).kid, kid)
      assert.strictEqual((yield* identity(join(home, "link.pem"))).kid, kid)
    }),
  )

  it.live("appears only when complete, even if its creation is interrupted, and leaves no other file", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const path = join(home, "key.pem")
      const making = yield* Effect.forkChild(createKeyFile(path))
      const sizes: Array<number> = []
      // Looks on every turn of the event loop, so between any two steps that the making takes.
      yield* Effect.promise(async () => {
        while (!existsSync(path)) await setImmediate()
        sizes.push(statSync(path).size)
      })
      yield* Fiber.interrupt(making)
      assert.deepStrictEqual(sizes, [statSync(path).size])
      assert.strictEqual((yield* readKeyFile(path)).length, 32)
      assert.deepStrictEqual(readdirSync(home), ["key.pem"])
    }),
  )

  it.effect("is created once if several proxies start on it together, and all read the same key", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "key.pem")
      const loaded = yield* Effect.all(
        Array.from({ length: 4 }, () => loadKeyFile(path)),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(loaded.filter(({ created }) => created).length, 1)
      assert.strictEqual(new Set(loaded.map(({ seed }) => Buffer.from(seed).toString("hex"))).size, 1)
    }).pipe(Effect.scoped),
  )

  it.effect("is never overwritten", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "key.pem")
      yield* createKeyFile(path)
      const before = readFileSync(path)
      const error = yield* Effect.flip(createKeyFile(path))
      assert.match(error.message, /exists already/)
      assert.match(error.message, /another path/)
      assert.deepStrictEqual(readFileSync(path), before)
    }),
  )

  it.effect.each(UNUSABLE)("is refused and left unchanged if it is %s", ([, make, problem, remedy]) =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "place", "key.pem")
      mkdirSync(join(path, ".."))
      make(path)
      const target = problem.source.startsWith("cannot") ? join(path, "..", "file", "key.pem") : path
      const error = yield* Effect.flip(identity(target))
      assert.instanceOf(error, KeyFileError)
      assert.strictEqual(error.path, target)
      assert.match(error.problem, problem)
      assert.match(error.remedy, remedy)
      assert.include(error.message, target)
    }),
  )

  it.effect.skipIf(!existsSync("/proc"))("is refused a place where no folder can be made", () =>
    Effect.gen(function* () {
      for (const path of ["/proc/sealgate/key.pem", "/proc/sealgate/keys/key.pem"]) {
        const error = yield* Effect.flip(createKeyFile(path))
        assert.match(error.message, /cannot be written \(that file system does not support this\)/)
      }
    }),
  )

  it.effect("is not created by readKeyFile, which reports that it is missing", () =>
    Effect.gen(function* () {
      const path = join(yield* temporaryFolder, "key.pem")
      const error = yield* Effect.flip(readKeyFile(path))
      assert.match(error.message, /cannot be opened \(there is no such file/)
      assert.match(error.message, /ATTESTATION_KEY_FILE/)
    }),
  )
})
