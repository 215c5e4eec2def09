"""stub"""
CONTENTS=()
