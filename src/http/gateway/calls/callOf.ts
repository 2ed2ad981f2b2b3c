import type { Identity } from "../../../domain/access/identity.ts"
import type { ApiRequest } from "../../../domain/upstream/upstream.ts"
import type { ApiCall } from "../../../services/routing/askApi.ts"
import { takeLabels } from "./callLabels.ts"

export const callOf = ({ key, subject, tenant }: Identity, request: ApiRequest): ApiCall => ({
  tenant,
  request: { ...request, caller: JSON.stringify([tenant, key?.id ?? subject]) },
  keyPolicy: key?.models,
  key: key?.id,
  labels: takeLabels(request),
  budgeted: key?.budgets === undefined ? [] : [{ owner: { kind: "key", id: key.id }, budgets: key.budgets }],
})
