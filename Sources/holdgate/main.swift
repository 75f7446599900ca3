print("holdgate")
