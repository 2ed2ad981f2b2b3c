import { assert, describe, it } from "@effect/vitest"
import { accessFault } from "../../src/services/fileAccess.ts"

const ROOT = 0
const SELF = 1000
const OTHER = 1001

const faultOf = (isSecret: boolean, mode: number, uid: number, self = SELF) => {
  const fault = accessFault("/key", { mode: 0o100_000 | mode, uid }, isSecret, self)
  return fault === undefined ? undefined : `${fault.problem}. ${fault.remedy}`
}

describe("a file that others could use", () => {
  it.each([
    [0o600, SELF, SELF],
    [0o400, SELF, SELF],
    [0o600, ROOT, ROOT],
    // As Kubernetes mounts a secret for the group of a pod.
    [0o440, ROOT, SELF],
    [0o640, ROOT, SELF],
  ])("is accepted as a secret: mode %o, owner %i, read by user %i", (mode, uid, self) => {
    assert.isUndefined(faultOf(true, mode, uid, self))
  })

  it.each([
    [0o640, SELF, SELF, "is readable or writable by others (mode 0640). Run chmod 600 /key"],
    [0o604, SELF, SELF, "is readable or writable by others (mode 0604). Run chmod 600 /key"],
    [0o610, SELF, SELF, "is readable or writable by others (mode 0610). Run chmod 600 /key"],
    [0o440, ROOT, ROOT, "is readable or writable by others (mode 0440). Run chmod 600 /key"],
    [0o444, ROOT, SELF, "is readable or writable by others (mode 0444). Run chmod 640 /key"],
    [0o660, ROOT, SELF, "is readable or writable by others (mode 0660). Run chmod 640 /key"],
    [0o600, OTHER, SELF, "belongs to another user (uid 1001). Run chown 1000 /key"],
    [0o600, OTHER, ROOT, "belongs to another user (uid 1001). Run chown 0 /key"],
  ])("is refused as a secret with mode %o of user %i by user %i", (mode, uid, self, message) => {
    assert.strictEqual(faultOf(true, mode, uid, self), message)
  })

  it("is accepted if it is not secret and others can only read it, and refused if they can write it", () => {
    for (const uid of [SELF, ROOT]) {
      for (const mode of [0o600, 0o640, 0o644, 0o444]) assert.isUndefined(faultOf(false, mode, uid))
      for (const mode of ["0620", "0602", "0666"]) {
        const message = `is writable by others (mode ${mode}). Run chmod go-w /key`
        assert.strictEqual(faultOf(false, Number.parseInt(mode, 8), uid), message)
      }
    }
    assert.match(faultOf(false, 0o644, OTHER) ?? "", /another user/)
  })
})
