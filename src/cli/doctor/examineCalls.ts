/** Checks that providers answer: sends each one small sealed request. */
import { Clock, Effect, Schema } from "effect"
import { clientError } from "../../client/clientError.ts"
import { SealedProblem, type SealgateError } from "../../client/errors.ts"
import type { SealedClient } from "../../client/sealed/SealedClient.ts"
import { ProviderId } from "../../domain/upstream/upstream.ts"
import { logHint } from "../chat/answerText.ts"
import { error, type Finding, ok } from "./Finding.ts"
import { type NoAnswer, probe, reasonOf } from "./probe.ts"
import { describeAnswer } from "./unexpectedAnswer.ts"

/** Costs some twenty tokens. The answer is not checked. */
const QUESTION = "Reply with the word OK."

const Models = Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String, owned_by: ProviderId })) })
const decodeModels = Schema.decodeUnknownOption(Models)

/** Above the 9 slots, 100 providers of a file and `echo`. A limit is needed because the list is not sealed. */
const MAX_PROVIDERS = 110

const SECOND = 1000

const FIXES: Readonly<Record<string, string>> = {
  "upstream-unauthorized": "Check the provider's key and account at the proxy.",
  "upstream-unavailable":
    "Check at the proxy: the provider's address, HTTPS_PROXY if its network has one, and the provider's status page.",
  "upstream-protocol":
    "Check at the proxy: the provider's address, such as PROVIDER1_BASE_URL, and the provider's status page.",
  "unknown-model": "Check the provider's model at the proxy, such as PROVIDER1_MODEL.",
  unauthorized: "Give your credential with --credential-file or SEALGATE_CREDENTIAL.",
}

/** Anybody on the path can refuse without a seal, with any code. */
const UNSEALED_FIX = "A server in front of the proxy may have refused: look at the proxy's log."

const failed = (who: string, cause: SealgateError): Finding => {
  const says = `${who} did not answer: ${cause.message}`
  if (cause instanceof SealedProblem && !cause.sealed) return error("calls", says, UNSEALED_FIX)
  const problem = cause instanceof SealedProblem ? cause.problem : undefined
  const fix = FIXES[problem?.code ?? ""] ?? "Look at the provider's status page."
  return error("calls", says, `${fix} ${logHint(problem)}`.trimEnd())
}

const callOne = Effect.fnUntraced(function* (client: SealedClient, provider: ProviderId, model: string) {
  const who = `${provider} (${model})`
  const began = yield* Clock.currentTimeMillis
  return yield* Effect.tryPromise({
    try: (signal) => client.complete({ prompt: QUESTION }, { provider, signal }),
    catch: clientError,
  }).pipe(
    Effect.andThen(Clock.currentTimeMillis),
    Effect.match({
      onSuccess: (now) => ok("calls", `${who} answered a sealed request in ${((now - began) / SECOND).toFixed(1)} s.`),
      onFailure: (cause) => failed(who, cause),
    }),
  )
})

const unusableList = (says: string) => [error("calls", says, "Check that /v1/models reaches the proxy.")]

/** Calls each provider of the pinned proxy once, one after the other. */
export const examineCalls = Effect.fnUntraced(
  function* (proxy: URL, client: SealedClient) {
    const answer = yield* probe(new URL("v1/models", proxy))
    const models = decodeModels(answer.body)
    if (models._tag === "None") return unusableList(`The proxy did not list its models: ${describeAnswer(answer)}`)
    const seen = new Set<ProviderId>()
    const providers = models.value.data.filter(({ owned_by }) => seen.size < seen.add(owned_by).size)
    if (seen.size > MAX_PROVIDERS) {
      return unusableList(`The list of models names ${seen.size} providers, more than a proxy has; none was called.`)
    }
    return yield* Effect.forEach(providers, ({ id, owned_by }) => callOne(client, owned_by, id))
  },
  Effect.catch((failure: NoAnswer) =>
    Effect.succeed([error("calls", `The connection broke: ${reasonOf(failure)}.`, "Look at the proxy's log.")]),
  ),
)
