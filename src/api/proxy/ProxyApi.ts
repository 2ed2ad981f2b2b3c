import { HttpApi, OpenApi } from "effect/http-api"
import { Refusals } from "../problems.ts"
import { SystemApi } from "../SystemApi.ts"
import { ModelsApi } from "./ModelsApi.ts"
import { SealedApi } from "./SealedApi.ts"

export class ProxyApi extends HttpApi.make("sealgate-proxy")
  .add(SealedApi)
  .add(ModelsApi)
  .middleware(Refusals)
  .add(SystemApi)
  // Reports all mistakes at once.
  .annotate(HttpApi.PayloadParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "sealgate proxy",
      version: "2",
      description: "Completions sealed with HPKE to a short-lived key that a pinned identity signed.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    }),
  ) {}
