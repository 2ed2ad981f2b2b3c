/** Encrypts secrets with the operator's keys: AES-256-GCM (NIST SP 800-38D), a random nonce each. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { Context, Layer, Redacted } from "effect"

const ALGORITHM = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ID_BYTES = 6

export interface SecretBox {
  /** Returns the encrypted text. `bound` is authenticated: only with the same can it be opened. */
  readonly seal: (text: string, bound: string) => string
  /** Returns the text; `undefined` if it was sealed with an unknown key, bound to something else, or changed. */
  readonly open: (sealed: string, bound: string) => string | undefined
}

/** Keys of 32 bytes in base64, the newest first; `undefined` if the operator set none. */
type SecretKeys = Redacted.Redacted<readonly [string, ...ReadonlyArray<string>]> | undefined

/** Encrypts with the operator's keys; `undefined` without keys. */
export const OperatorBox = Context.Reference<SecretBox | undefined>("sealgate/services/access/OperatorBox", {
  defaultValue: () => undefined,
})

export const layerOperatorBox = (keys: SecretKeys): Layer.Layer<never> =>
  Layer.succeed(OperatorBox, keys === undefined ? undefined : makeSecretBox(Redacted.value(keys)))

const idOf = (key: Buffer): string =>
  createHash("sha256").update(key).digest().subarray(0, ID_BYTES).toString("base64url")

/** The first key, 32 bytes in base64, encrypts; all decrypt. */
const makeSecretBox = (texts: readonly [string, ...ReadonlyArray<string>]): SecretBox => {
  const [current, ...older] = texts
  const first = Buffer.from(current, "base64")
  const keys = new Map([first, ...older.map((text) => Buffer.from(text, "base64"))].map((key) => [idOf(key), key]))
  const firstId = idOf(first)
  return {
    seal: (text, bound) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, first, nonce).setAAD(Buffer.from(bound))
      const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
      return `${firstId}.${sealed.toString("base64url")}`
    },
    open: (sealed, bound) => {
      const [id = "", text = ""] = sealed.split(".")
      const key = keys.get(id)
      const bytes = Buffer.from(text, "base64url")
      if (key === undefined || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(bound))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      const opened = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
      try {
        return Buffer.concat([opened, decipher.final()]).toString("utf8")
      } catch {
        // `final` throws exactly if the tag does not match.
        return undefined
      }
    },
  }
}
