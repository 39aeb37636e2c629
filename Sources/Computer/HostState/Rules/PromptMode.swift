/// When the phone is asked without asking the user first: `prompt=` of a PAM line.
public enum PromptMode: String, Sendable, CaseIterable { case auto, choose, push }
