import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import type { NativeCall } from "../../Provider.ts"

/** Returns the body of `call` with its model and the given members replaced; the rest stays as it is. */
export const nativeBody = ({ body, model }: NativeCall, values: Readonly<Record<string, string>> = {}): Bytes =>
  body.with({ ...(body.value("model") === model ? {} : { model: JSON.stringify(model) }), ...values })
