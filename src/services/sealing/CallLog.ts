import type { ApiEvent, Attempt } from "../../domain/upstream/upstream.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { NOBODY, type ServedBy } from "./EndRecord.ts"

/** Who was called for a request, for its receipt: the provider that answered, else the last one. */
export class CallLog {
  served: ServedBy = NOBODY

  /** Told of every call as it ends. */
  readonly note = ({ model, provider, servedModel }: Attempt): void => {
    this.served = { ...NOBODY, provider, model: servedModel ?? model }
  }

  hear(event: ApiEvent): void {
    switch (event._tag) {
      case "Delta":
        this.served = { ...NOBODY, provider: event.provider, model: modelIn(event.chunk) ?? this.served.model }
        return
      case "Restarted":
        this.served = { ...NOBODY, provider: event.provider, model: event.model }
        return
      case "Finished":
        this.served = event.served
    }
  }
}

/** The model that a piece names, where pieces do: of some APIs only the first one does. */
const modelIn = ({ message, model, response }: JsonObject): string | undefined =>
  [model, isObject(message) && message["model"], isObject(response) && response["model"]].find(
    (named): named is string => typeof named === "string",
  )
