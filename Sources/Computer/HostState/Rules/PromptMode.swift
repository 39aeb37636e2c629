/// When the phone is rung without asking first: `prompt=` of a PAM line.
public enum PromptMode: String, Sendable, CaseIterable { case auto, choose, push }
