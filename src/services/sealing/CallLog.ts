import type { ApiEvent, Attempt } from "../../domain/upstream/upstream.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { NOT_SERVED, type ServedBy } from "./EndRecord.ts"

/** The provider for the receipt: the one that answered, else the last one called. */
export class CallLog {
  served: ServedBy = NOT_SERVED

  /** Notes a call that ended. */
  readonly recordAttempt = ({ model, provider, servedModel }: Attempt): void => {
    this.served = { ...NOT_SERVED, provider, model: servedModel ?? model }
  }

  recordEvent(event: ApiEvent): void {
    const { provider } = event
    const model = event._tag === "Delta" ? (modelIn(event.chunk) ?? this.served.model) : event.model
    this.served = { ...NOT_SERVED, provider, model }
  }
}

/** The model that a piece names; in some APIs only the first piece does. */
const modelIn = ({ message, model, response }: JsonObject): string | undefined =>
  [model, isObject(message) && message["model"], isObject(response) && response["model"]].find(
    (named): named is string => typeof named === "string",
  )
