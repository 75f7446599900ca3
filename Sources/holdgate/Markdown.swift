enum Markdown { static let page = "" }
