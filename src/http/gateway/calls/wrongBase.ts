/** The refusal for SDKs whose base URL is wrong: without `/v1`, or with too much after it. */
import { NotFound } from "../../../api/problems.ts"
import { problemAnswer } from "../../../client/sdk/errorAnswer.ts"
import { openai } from "../../../client/sdk/vendors/openai.ts"
import { apiAt } from "../../../domain/upstream/apis.ts"

/** Contains OpenAI's `error` too, because OpenAI's SDKs show nothing else; Anthropic's show the whole body. */
export const wrongBase = (path: string) => {
  if (apiAt(path) === undefined && !path.endsWith("/models")) return undefined
  const refusal = new NotFound({
    detail:
      "The base URL of your client is wrong: with OpenAI's SDKs it is this server's address and /v1, with Anthropic's the address alone.",
  })
  return { refusal, members: openai.errorBody(problemAnswer(refusal.problem, undefined)) }
}
