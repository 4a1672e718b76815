import type { OrgRole } from "../../api/types";
import { ROLE_MEANING, ROLE_WORD, ROLES } from "./words";

interface RoleFieldProps {
  value: OrgRole;
  onChange: (role: OrgRole) => void;
}

export function RoleField({ value, onChange }: RoleFieldProps) {
  return (
    <fieldset className="field choices">
      <legend>Role</legend>
      {ROLES.map((role) => (
        <label key={role} className="choice">
          <input type="radio" name="role" checked={value === role} onChange={() => onChange(role)} />
          <span>
            <strong>{ROLE_WORD[role]}</strong>
            <span className="choice-note">{ROLE_MEANING[role]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
