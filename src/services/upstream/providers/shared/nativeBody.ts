import type { Bytes } from "../../../../domain/bytes/bytes.ts"
import type { NativeCall } from "../../Provider.ts"

/** The body of `call` for the model that is asked, with other values of members besides; else it stays as it is. */
export const nativeBody = ({ body, model }: NativeCall, values: Readonly<Record<string, string>> = {}): Bytes =>
  body.with({ ...(body.value("model") === model ? {} : { model: JSON.stringify(model) }), ...values })
