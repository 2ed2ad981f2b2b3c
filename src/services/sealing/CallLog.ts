import type { Attempt, StreamEvent } from "../../domain/upstream.ts"
import { NOBODY, type ServedBy } from "./EndRecord.ts"

/** Who was called for a request, for its receipt: the provider that answered, else the last one. */
export class CallLog {
  served: ServedBy = NOBODY

  /** Told of every call as it ends. */
  readonly note = ({ model, provider, servedModel }: Attempt): void => {
    this.served = { ...NOBODY, provider, model: servedModel ?? model }
  }

  hear(event: StreamEvent): void {
    switch (event._tag) {
      case "Delta":
        this.served = { ...NOBODY, provider: event.provider, model: event.chunk.model }
        return
      case "Restarted":
        this.served = { ...NOBODY, provider: event.provider, model: event.model }
        return
      case "Finished":
        this.served = event.served
    }
  }
}
