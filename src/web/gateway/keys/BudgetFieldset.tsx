import { Field, fieldProps } from "../../shared/Field.tsx"
import { type BudgetFields, NO_BUDGET, type Period, PERIODS } from "./keyForm.ts"

export const PERIOD_TEXT = {
  hour: "per hour",
  day: "per day",
  month: "per month",
  total: "in total",
} as const satisfies Record<Period, string>

/** The budgets of a key: one row per period. */
export const BudgetFieldset = ({
  budgets,
  mistake,
  onChange,
}: {
  readonly budgets: ReadonlyArray<BudgetFields>
  readonly mistake: string | undefined
  readonly onChange: (budgets: ReadonlyArray<BudgetFields>) => void
}) => {
  const set = (index: number, change: Partial<BudgetFields>) =>
    onChange(budgets.map((budget, at) => (at === index ? { ...budget, ...change } : budget)))
  const unused = PERIODS.find((period) => !budgets.some(({ per }) => per === period))
  return (
    <fieldset class="stack tight">
      <legend>Budgets (optional)</legend>
      {budgets.map(({ cost, per, tokens }, index) => (
        <div key={index} class="columns thin">
          <Field id={`budget-per-${index}`} label="Period">
            <select
              {...fieldProps(`budget-per-${index}`, undefined)}
              value={per}
              onChange={(event) =>
                set(index, { per: PERIODS.find((period) => period === event.currentTarget.value) ?? per })
              }
            >
              {PERIODS.map((period) => (
                <option key={period} value={period}>
                  {PERIOD_TEXT[period]}
                </option>
              ))}
            </select>
          </Field>
          <Field id={`budget-cost-${index}`} label="US dollars">
            <input
              type="text"
              inputMode="decimal"
              autocomplete="off"
              {...fieldProps(`budget-cost-${index}`, mistake)}
              value={cost}
              onInput={(event) => set(index, { cost: event.currentTarget.value })}
            />
          </Field>
          <Field id={`budget-tokens-${index}`} label="Tokens">
            <input
              type="text"
              inputMode="numeric"
              autocomplete="off"
              {...fieldProps(`budget-tokens-${index}`, undefined)}
              value={tokens}
              onInput={(event) => set(index, { tokens: event.currentTarget.value })}
            />
          </Field>
        </div>
      ))}
      {mistake !== undefined && <p class="small mistake">{mistake}</p>}
      {unused !== undefined && (
        <div>
          <button type="button" class="quiet" onClick={() => onChange([...budgets, { ...NO_BUDGET, per: unused }])}>
            Add a budget {PERIOD_TEXT[unused]}
          </button>
        </div>
      )}
    </fieldset>
  )
}
