import { useState } from "react";
import { Button } from "../../components/Button";
import { useMay } from "../signIn/me";
import { CreateDialog } from "./CreateDialog";

interface CreateButtonProps {
  label?: string;
  tone?: "primary" | "plain";
}

export function CreateButton({ label = "New workspace", tone = "primary" }: CreateButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  if (!useMay("workspaces:write")) return null;
  return (
    <>
      <Button tone={tone} icon="plus" onClick={() => setIsOpen(true)}>
        {label}
      </Button>
      {isOpen && <CreateDialog onClose={() => setIsOpen(false)} />}
    </>
  );
}
