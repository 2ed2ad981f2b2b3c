import type { ComponentChildren } from "preact"

interface Props {
  readonly label: string
  /** The name of each column, and the CSS classes of its cells. */
  readonly columns: ReadonlyArray<string | readonly [name: string, css: string]>
  readonly class?: "rows"
  readonly children: ComponentChildren
}

/** A table, in a box in which it scrolls if it is wide, also by keyboard. */
export const Table = ({ children, class: css, columns, label }: Props) => (
  <div class="scroll" role="region" aria-label={label} tabIndex={0}>
    <table class={css}>
      <thead>
        <tr>
          {columns.map((column) => {
            const [name, css] = typeof column === "string" ? [column] : column
            return (
              <th key={name} scope="col" class={css}>
                {name}
              </th>
            )
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)
