/** The refusal for SDKs whose base URL is a sealed proxy, because their requests are not sealed. */
import { problemAnswer } from "../../client/sdk/errorAnswer.ts"
import { openai } from "../../client/sdk/vendors/openai.ts"
import { NOT_SEALED } from "../../domain/operations/software.ts"
import { Refusal } from "../../domain/problems/refusal.ts"
import { apiAt } from "../../domain/upstream/apis.ts"

class NotSealed extends Refusal<NotSealed>()("NotSealed", {
  code: NOT_SEALED,
  status: 404,
  title: "This is a sealed proxy: it takes only requests sealed to it.",
  detail:
    "Run `sealgate connect --proxy <this address> --pin <its pin>` beside your program and point its base URL there, or give your " +
    "SDK the sealed fetch: createSealedFetch of sealgate-client.",
}) {}

/** Paths of vendors' APIs that have no sealed form. */
const UNSEALABLE_PATH = /\/(moderations|audio\/\w+|images\/\w+|models\/[\w.-]+:\w+)$/

/** Contains OpenAI's `error` too, because OpenAI's SDKs show nothing else; Anthropic's show the whole body. */
export const vendorRefusal = (path: string) => {
  if (apiAt(path) === undefined && !UNSEALABLE_PATH.test(path)) return undefined
  const refusal = new NotSealed()
  return { refusal, members: openai.errorBody(problemAnswer(refusal.problem, undefined)) }
}
