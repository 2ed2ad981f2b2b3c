/** Tenants' own keys of providers, as calls of several processes see them. */
import { randomBytes } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { SecretNotFound } from "../../../src/domain/access/secrets.ts"
import { layerOperatorBox } from "../../../src/services/access/secretBox.ts"
import { Secrets } from "../../../src/services/access/Secrets.ts"
import { describeDatabases } from "../../support/databases.ts"

const KEYS = Redacted.make([randomBytes(32).toString("base64")] as const)

describeDatabases("a tenant's own key", (database) => {
  it.effect("is changed and removed in every process within a second", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(database.layer)
      const open = Effect.map(
        Layer.build(
          Layer.fresh(Secrets.layer).pipe(
            Layer.provide(layerOperatorBox(KEYS)),
            Layer.provide(Layer.succeedContext(context)),
          ),
        ),
        (built) => Context.get(built, Secrets),
      )
      const [one, other] = [yield* open, yield* open]
      const put = (value: string) => one.put("acme", "openai", { value: Redacted.make(value), provider: "provider1" })
      const seenBy = (secrets: typeof one, tenant = "acme") =>
        Effect.map(secrets.keysOf(tenant), ({ keys }) =>
          [...keys].map(([provider, key]) => [provider, key && Redacted.value(key)]),
        )
      assert.deepStrictEqual(yield* seenBy(one), [])
      assert.deepStrictEqual(yield* seenBy(other), [])
      for (const value of ["first-key", "second-key"]) {
        yield* put(value)
        assert.deepStrictEqual(yield* seenBy(one), [["provider1", value]])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* seenBy(other), [["provider1", value]])
      }
      assert.deepStrictEqual(yield* seenBy(other, "globex"), [])
      // Setting the clock back must not make old values last.
      yield* TestClock.setTime(0)
      yield* one.remove("acme", "openai")
      assert.deepStrictEqual(yield* seenBy(one), [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* seenBy(other), [])
      assert.instanceOf(yield* Effect.flip(other.remove("acme", "openai")), SecretNotFound)
    }),
  )
})
